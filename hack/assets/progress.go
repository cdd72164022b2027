// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// How often the state is told: one line that is rewritten on a terminal, a line
// of its own elsewhere.
const (
	terminalInterval = 250 * time.Millisecond
	logInterval      = 15 * time.Second
)

// progress tells, until it is stopped, how far a build is.
type progress struct {
	out      io.Writer
	what     string
	terminal bool
	start    time.Time
	quit     chan struct{}
	ended    sync.WaitGroup

	mu    sync.Mutex
	doing string // "compiling"
	at    string // a package or a module
	done  int
	total int
}

func newProgress(out io.Writer, what string) *progress {
	p := &progress{
		out: out, what: what, terminal: isTerminal(out), start: time.Now(), quit: make(chan struct{}), doing: "resolving packages",
	}
	p.ended.Go(p.loop)
	return p
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p *progress) loop() {
	interval := logInterval
	if p.terminal {
		interval = terminalInterval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for p.print(); ; p.print() {
		select {
		case <-ticker.C:
		case <-p.quit:
			return
		}
	}
}

// stop says how it ended and how long it took.
func (p *progress) stop(err error) {
	close(p.quit)
	p.ended.Wait()
	p.mu.Lock()
	p.doing, p.at = "built", ""
	if err != nil {
		p.doing = "not built"
	}
	p.mu.Unlock()
	p.print()
	if p.terminal {
		_, _ = fmt.Fprintln(p.out)
	}
}

func (p *progress) print() {
	if p.terminal {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K", p)
		return
	}
	_, _ = fmt.Fprintln(p.out, p)
}

// String is the state in one line.
func (p *progress) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := fmt.Sprintf("%s, %s: %s", p.what, time.Since(p.start).Round(time.Second), p.doing)
	if p.total > 0 {
		line += fmt.Sprintf(" %d/%d", p.done, p.total)
	}
	return strings.TrimSpace(line + " " + p.at)
}

// compiling says that what is read from now on are packages, total of them.
func (p *progress) compiling(total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing, p.at, p.total = "compiling", "", total
}

// read follows a go command's standard error to its end, and returns what it
// complained of.
func (p *progress) read(stderr io.Reader) string {
	var complaints strings.Builder
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if !p.follow(lines.Text()) {
			complaints.WriteString(lines.Text() + "\n")
		}
	}
	_, _ = io.Copy(io.Discard, stderr) // a line too long for the scanner must not block the command
	return complaints.String()
}

// follow takes one line and returns false if it is neither the name of a package
// (go build -v prints those it compiles) nor news about a download.
func (p *progress) follow(line string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if module, ok := strings.CutPrefix(line, "go: downloading "); ok {
		p.at = "(downloading " + module + ")"
		return true
	}
	if line == "" || strings.ContainsAny(line, " #:\t") {
		return false
	}
	if strings.HasPrefix(line, rootModule) { // the last one: what takes time now is the linker
		p.doing = "compiled, linking"
	}
	p.at = line
	p.done++
	return true
}
