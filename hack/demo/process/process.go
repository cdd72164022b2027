// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// pollInterval is how often an output file is looked at.
const pollInterval = 20 * time.Millisecond

// Process is a child process. Its methods may be called from several goroutines
// at once.
type Process struct {
	name   string
	cmd    *exec.Cmd
	stdout string
	stderr string
	ended  chan struct{}
}

// Start starts a program whose standard output goes to NAME.out in dir, anew, and
// whose standard error to NAME.log, after what is there. The caller must Stop it. Call it from a goroutine that
// is locked to a thread which lives as long as the process may: on Linux a child
// is killed when the thread that started it ends.
func Start(name, dir, path string, args ...string) (*Process, error) {
	p := &Process{
		name: name, cmd: exec.Command(path, args...), ended: make(chan struct{}),
		stdout: filepath.Join(dir, name+".out"), stderr: filepath.Join(dir, name+".log"),
	}
	stdout, err1 := os.Create(p.stdout)
	stderr, err2 := os.OpenFile(p.stderr, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	defer closeAll(stdout, stderr) // the child has its own
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p.cmd.Stdout, p.cmd.Stderr = stdout, stderr
	p.cmd.SysProcAttr = attributes()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // how it ended is in p.cmd.ProcessState
	}()
	return p, nil
}

func closeAll(files ...*os.File) {
	for _, file := range files {
		if file != nil {
			_ = file.Close()
		}
	}
}

// Name is what the process was started as.
func (p *Process) Name() string { return p.name }

// PID is its process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// State says how the process ended, once it has: "exit status 0", "signal: killed".
func (p *Process) State() string {
	select {
	case <-p.ended:
		return p.cmd.ProcessState.String()
	default:
		return "running"
	}
}

// Terminate asks the process to end, and does not wait until it has.
func (p *Process) Terminate() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

// Kill kills the process and returns when it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// Stop asks the process to end, kills it after the grace period, and returns when
// it is gone. It may be called again.
func (p *Process) Stop(grace time.Duration) {
	p.Terminate()
	select {
	case <-p.ended:
	case <-time.After(grace):
		p.Kill()
	}
}

// Stdout is what the process has printed so far.
func (p *Process) Stdout() string {
	text, err := os.ReadFile(p.stdout)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Await waits for a line on standard output that begins with the prefix, and
// returns the rest of it. The error says that the process ended or the context.
func (p *Process) Await(ctx context.Context, prefix string) (string, error) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		if rest, ok := findLine(p.Stdout(), prefix); ok {
			return rest, nil
		}
		select {
		case <-ticker.C:
		case <-p.ended:
			return "", fmt.Errorf("%s ended before it printed %q: %s", p.name, prefix, p.State())
		case <-ctx.Done():
			return "", fmt.Errorf("%s has not printed %q: %w", p.name, prefix, context.Cause(ctx))
		}
	}
}

// findLine looks for the first complete line that begins with the prefix.
func findLine(text, prefix string) (rest string, found bool) {
	for line := range strings.Lines(text) {
		if after, ok := strings.CutPrefix(line, prefix); ok && strings.HasSuffix(line, "\n") {
			return strings.TrimSpace(after), true
		}
	}
	return "", false
}

// Tail is the end of what it told on standard error, n lines at most.
func (p *Process) Tail(n int) []string {
	text, err := os.ReadFile(p.stderr)
	if err != nil {
		return []string{err.Error()}
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return lines[max(0, len(lines)-n):]
}
