// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// grace is what a pod has by default between SIGTERM and SIGKILL.
const grace = 30 * time.Second

// binaries is where the programs are.
var binaries string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	var err error
	if binaries, err = os.MkdirTemp("", "examples-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(binaries)
	arguments := []string{"build", "-o", binaries}
	if raced() { // then the programs are, too
		arguments = append(arguments, "-race")
	}
	for _, e := range examples {
		arguments = append(arguments, "./"+e.name)
	}
	if out, err := exec.Command("go", arguments...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go %s: %v\n%s", strings.Join(arguments, " "), err, out)
		return 1
	}
	return m.Run()
}

// raced says whether this test was built with the race detector.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func (e example) command(arguments ...string) *exec.Cmd {
	return exec.Command(filepath.Join(binaries, e.name), arguments...)
}

// program is an example that runs.
type program struct {
	address string
	cmd     *exec.Cmd
	stderr  output
	// exited is closed when it is gone; stdout, without the first line, and stderr
	// are complete then.
	exited chan struct{}
	stdout string

	terminated time.Time
}

// start starts an example in front of the upstream, until the test ends.
func (e example) start(t *testing.T, upstream string, lameDuck, drainTimeout time.Duration) *program {
	t.Helper()
	p := &program{exited: make(chan struct{})}
	p.cmd = e.command("-listen", "127.0.0.1:0", "-upstream", upstream, "-bulkheads", writeDocument(t),
		"-lame-duck", lameDuck.String(), "-drain-timeout", drainTimeout.String())
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	must(t, err)
	must(t, p.cmd.Start())
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
		if t.Failed() {
			t.Logf("%s: %s\n%s%s", e.name, p.cmd.ProcessState, p.stdout, &p.stderr)
		}
	})
	lines := bufio.NewReader(stdout)
	first, err := lines.ReadString('\n')
	go func() {
		defer close(p.exited)
		rest, _ := io.ReadAll(lines)
		p.stdout = string(rest)
		_ = p.cmd.Wait() // how it ended is in p.cmd.ProcessState
	}()
	must(t, err)
	p.address = strings.TrimSpace(strings.TrimPrefix(first, "listening on "))
	if e.leavesSignals { // a SIGTERM that comes earlier ends the program at once
		eventually(t, "signals caught", func() bool { return strings.Contains(p.stderr.String(), "signals are caught") })
	}
	return p
}

// output is what a program has written so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// writeDocument gives every bulkhead of the examples room enough for the load, so
// that no call is shed, however slow the machine is.
func writeDocument(t *testing.T) (dir string) {
	t.Helper()
	roomy := bulkheadconfig.Service{Limit: 5000, MaxWait: 5 * time.Second, ReclaimAfter: time.Hour}
	text, err := bulkheadconfig.Encode(map[string]bulkheadconfig.Service{"upstream": roomy, "requests": roomy, "connections": roomy})
	must(t, err)
	dir = t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, bulkheadconfig.Key), text, 0o600))
	return dir
}

// terminate sends a SIGTERM, as a kubelet does.
func (p *program) terminate(t *testing.T) {
	t.Helper()
	p.terminated = time.Now()
	must(t, p.cmd.Process.Signal(syscall.SIGTERM))
}

// awaitExit waits until the program has ended by itself, which has to be within
// the grace period, and returns its exit code and how long it took since SIGTERM.
func (p *program) awaitExit(t *testing.T) (code int, took time.Duration) {
	t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode(), time.Since(p.terminated)
	case <-time.After(time.Until(p.terminated.Add(grace))):
		t.Fatal("the program has not ended within the grace period")
		return 0, 0
	}
}

// listens says whether the program accepts connections.
func (p *program) listens() bool {
	conn, err := net.Dial("tcp", p.address)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually looks every few milliseconds whether something has come true.
func eventually(t *testing.T, what string, come func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(grace); !come(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatalf("after %v still not: %s", grace, what)
		}
	}
}
