// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
	"github.com/servicebulkhead/servicebulkhead/hack/pods/parts"
)

// asNodeEnv turns the test's binary into the command itself, which is also what
// the command starts as a node's first process.
const asNodeEnv = "SERVICEBULKHEAD_TEST_AS_NODE"

func TestMain(m *testing.M) {
	if os.Getenv(asNodeEnv) != "" {
		os.Exit(exitCode(dispatch(os.Args[1:])))
	}
	os.Exit(m.Run())
}

// testNode is a node in a directory of its own.
type testNode struct{ layout.Layout }

// newTestNode skips the test where no node can run. Whatever becomes of the test,
// its node is ended.
func newTestNode(t *testing.T) testNode {
	t.Helper()
	n := testNode{layout.Layout{Root: filepath.Join(t.TempDir(), "node")}}
	if code, output := n.do(t, "check"); code != 0 {
		t.Skip(output)
	}
	t.Cleanup(func() {
		if _, err := os.Stat(n.Root); err == nil {
			t.Logf("the node was still there: %v", down(n.Layout, t.Output()))
		}
	})
	return n
}

// command is the command node with arguments.
func (n testNode) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{"-root", n.Root}, args...)...)
	cmd.Env = append(os.Environ(), asNodeEnv+"=1")
	return cmd
}

// do runs the command node, and returns its exit code and all that it printed.
func (n testNode) do(t *testing.T, args ...string) (code int, output string) {
	t.Helper()
	printed, err := n.command(t.Context(), args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("node %q: %v", args, err)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return code, string(printed)
}

// must is do for what has to succeed.
func (n testNode) must(t *testing.T, args ...string) string {
	t.Helper()
	code, output := n.do(t, args...)
	if code != 0 {
		t.Fatalf("node %q: exit code %d:\n%s", args, code, output)
	}
	return output
}

// eventually waits until check returns nil.
func eventually(t *testing.T, within time.Duration, check func() error) {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.Now().Add(within)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %v", within, err)
		}
		<-ticker.C
	}
}

// A node is started once; all that needs one is here.
func TestNodeLeavesNoTrace(t *testing.T) {
	n := newTestNode(t)
	before := takeSnapshot(t)
	t.Logf("\n%s", n.must(t, "up"))
	inside := processesOf(t, n)
	if len(inside) < 8 {
		t.Errorf("%d processes in the node's pid namespace, want its first and seven components", len(inside))
	}
	t.Run("up again names the process and the way to end it", n.testUpAgain)
	t.Run("run is inside, where it was called from", n.testInside)
	t.Run("nobody gives the node orders from inside", n.testOrdersFromInside)
	t.Run("run passes exit codes on", n.testExitCodes)
	t.Run("run passes signals on", n.testSignals)
	t.Run("load takes several archives, named from where it was called", n.testLoad)
	t.Run("a pod runs", func(t *testing.T) { n.runPod(t, "first") })
	t.Run("a killed kubelet is back at once", n.testKilledKubelet)
	inside = processesOf(t, n)
	t.Logf("\n%s", n.must(t, "down"))
	expectGone(t, inside)
	before.compare(t, n)
	if code, output := n.do(t, "run", "--", "true"); code != 1 || !strings.Contains(output, "make node-up") {
		t.Errorf("run without a node: exit code %d: %s", code, output)
	}
	if output := n.must(t, "down"); !strings.Contains(output, "was not up") {
		t.Errorf("down without a node: %s", output)
	}
}

func (n testNode) testUpAgain(t *testing.T) {
	pid, err := os.ReadFile(n.PIDFile())
	if err != nil {
		t.Fatal(err)
	}
	code, output := n.do(t, "up")
	for _, words := range []string{strings.TrimSpace(string(pid)), "make node-down"} {
		if code != 1 || !strings.Contains(output, words) {
			t.Errorf("exit code %d without %q: %s", code, words, output)
		}
	}
}

func (n testNode) testInside(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	output := n.must(t, "run", "--", "sh", "-c", "pwd; hostname; cat /proc/1/comm; echo $SERVICEBULKHEAD_NODE; kubectl get --raw=/readyz")
	first := filepath.Base(os.Args[0])
	want := strings.Join([]string{dir, layout.NodeName, first[:min(15, len(first))], n.Root, "ok"}, "\n")
	if strings.TrimSpace(output) != want {
		t.Errorf("got\n%s\nwant\n%s", output, want)
	}
}

func (n testNode) testOrdersFromInside(t *testing.T) {
	for _, order := range [][]string{{"load", "image.tar"}, {"run", "--", "true"}} {
		code, output := n.do(t, append([]string{"run", "--", os.Args[0], "-root", n.Root}, order...)...)
		if code != 1 || !strings.Contains(output, "inside the node, which takes its orders from outside") {
			t.Errorf("%v: exit code %d: %s", order, code, output)
		}
	}
}

func (n testNode) testExitCodes(t *testing.T) {
	for script, want := range map[string]int{"true": 0, "exit 7": 7, "kill -KILL $$": 128 + 9} {
		if code, output := n.do(t, "run", "--", "sh", "-c", script); code != want {
			t.Errorf("%s: exit code %d, want %d: %s", script, code, want, output)
		}
	}
}

func (n testNode) testSignals(t *testing.T) {
	cmd := n.command(t.Context(), "run", "--", "sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do read -r line; done")
	stdin, err1 := cmd.StdinPipe() // read waits for it
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }()
	if _, err := stdout.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 9 {
		t.Errorf("got %v, want the exit code of the command's own trap, 9", err)
	}
}

func (n testNode) testLoad(t *testing.T) {
	programs, err := parts.Read(n.PartsFile())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	names := []string{"one.tar", "two.tar"}
	for _, name := range names {
		if err := os.Symlink(programs.PauseImage, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := n.command(t.Context(), append([]string{"load"}, names...)...)
	cmd.Dir = dir
	output, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(output), layout.PauseImage) != len(names) {
		t.Errorf("got %v, want a word about each of %d archives:\n%s", err, len(names), output)
	}
}

// runPod runs a pod until it is ready. Its image is one that the node brings along.
func (n testNode) runPod(t *testing.T, name string) {
	n.must(t, "run", "--", "kubectl", "run", name, "--image="+layout.PauseImage, "--image-pull-policy=IfNotPresent")
	n.must(t, "run", "--", "kubectl", "wait", "--for=condition=Ready", "pod/"+name, "--timeout=60s")
}

func (n testNode) testKilledKubelet(t *testing.T) {
	killed := n.pidOf(t, "kubelet")
	if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, 2*time.Second, func() error {
		if now := n.pidOf(t, "kubelet"); now == 0 || now == killed {
			return errors.New("no other kubelet")
		}
		return nil
	})
	n.runPod(t, "second")
}

func (n testNode) pidOf(t *testing.T, name string) int {
	for pid, comm := range processesOf(t, n) {
		if comm == name {
			return pid
		}
	}
	return 0
}

// A node that was killed has no first process, and its record names one that may
// be anybody's by now.
func TestDownClearsWhatAKilledNodeHasLeft(t *testing.T) {
	n := newTestNode(t)
	if err := lay(n.Layout, parts.Programs{}); err != nil {
		t.Fatal(err)
	}
	stranger := exec.Command("cat")
	stdin, err := stranger.StdinPipe()
	if err := errors.Join(err, stranger.Start()); err != nil {
		t.Fatal(err)
	}
	writePID(t, n, stranger.Process.Pid)
	if output := n.must(t, "down"); !strings.Contains(output, "was not up") {
		t.Errorf("down says %q", output)
	}
	n.expectNothing(t)
	if err := errors.Join(stdin.Close(), stranger.Wait()); err != nil {
		t.Errorf("the process that has the number now: %v, want it to end by itself", err)
	}
}

func TestUpThatFailsShowsTheLogAndLeavesNothing(t *testing.T) {
	n := newTestNode(t)
	t.Setenv("KUBEBUILDER_ASSETS", fakeKubernetes(t, "echo the disk is on fire >&2; exit 3"))
	code, output := n.do(t, "up")
	for _, words := range []string{"exit status 3", "last lines of the log of", "the disk is on fire"} {
		if code != 1 || !strings.Contains(output, words) {
			t.Errorf("exit code %d without %q:\n%s", code, words, output)
		}
	}
	n.expectNothing(t)
}

func TestUpThatIsInterruptedLeavesNothing(t *testing.T) {
	n := newTestNode(t)
	t.Setenv("KUBEBUILDER_ASSETS", fakeKubernetes(t, "exec tail -f /dev/null"))
	cmd := n.command(t.Context(), "up")
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	stdout, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 256)); err != nil { // the first step
		t.Fatal(err, complaints.String())
	}
	inside := processesOf(t, n)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("got %v, want exit code 1: %s", err, complaints.String())
	}
	expectGone(t, inside)
	n.expectNothing(t)
}

// expectGone fails the test if a process is still there. Whoever adopts a process
// that has ended may take a moment to notice.
func expectGone(t *testing.T, processes map[int]string) {
	t.Helper()
	if len(processes) == 0 {
		t.Error("there was no process to begin with")
	}
	for pid, name := range processes {
		eventually(t, 5*time.Second, func() error {
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("process %d, %s, is still there", pid, name)
			}
			return nil
		})
	}
}

// fakeKubernetes is a directory of scripts in the place of Kubernetes' programs.
func fakeKubernetes(t *testing.T, script string) string {
	dir := t.TempDir()
	for _, name := range []string{
		"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
