// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
	"github.com/servicebulkhead/servicebulkhead/hack/pods/parts"
)

func TestMountsBelow(t *testing.T) {
	const mountinfo = `27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
31 23 0:28 / /cache/node/var/x rw,relatime - tmpfs none rw
32 23 0:28 / /cache/node2/var rw,relatime - tmpfs none rw
33 23 0:28 / /my\040cache/node/var rw,relatime - tmpfs none rw
`
	for dir, want := range map[string]string{"/cache/node": "/cache/node/var/x", "/my cache/node": "/my cache/node/var"} {
		if got := mountsBelow(mountinfo, dir); !slices.Equal(got, []string{want}) {
			t.Errorf("below %s: %q", dir, got)
		}
	}
}

func TestExitCode(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 5": 5, "kill -TERM $$": 128 + 15} {
		if got := exitCode(passOn(exec.Command("sh", "-c", script).Run())); got != want {
			t.Errorf("%s: %d, want %d", script, got, want)
		}
	}
	if got := exitCode(fmt.Errorf("one of ours: %w", exec.Command("sh", "-c", "exit 5").Run())); got != 1 {
		t.Errorf("of a command that the user did not ask for: %d, want 1 and a word about it", got)
	}
	if got := exitCode(errors.New("whatever")); got != 1 {
		t.Errorf("another error: %d", got)
	}
}

func TestLocate(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	if node, err := locate(""); err != nil || node.Root != filepath.Join(cache, "servicebulkhead", "node") {
		t.Errorf("without -root: %+v, %v", node, err)
	}
	if node, err := locate("some/where"); err != nil || !filepath.IsAbs(node.Root) {
		t.Errorf("a relative -root: %+v, %v", node, err)
	}
	link := filepath.Join(cache, "link")
	if err := os.Symlink("/", link); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"/", link} {
		if _, err := locate(root); err == nil {
			t.Errorf("-root %s is taken: down would remove it", root)
		}
	}
	if node, err := locate(filepath.Join(link, "not", "there")); err != nil || node.Root != "/not/there" {
		t.Errorf("below a link: %+v, %v", node, err)
	}
}

func TestClearLeavesWhatIsNotANodes(t *testing.T) {
	n := testNode{layout.Layout{Root: filepath.Join(t.TempDir(), "home")}}
	file := filepath.Join(n.Root, "etc", "letter")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := clear(n.Layout); err == nil || !strings.Contains(err.Error(), n.Root) {
		t.Errorf("got %v, want an error that names the directory", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := (parts.Programs{}).Write(n.PartsFile()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is not there
		if err := clear(n.Layout); err != nil {
			t.Error(err)
		}
		n.expectNothing(t)
	}
}

func TestCommandEnv(t *testing.T) {
	t.Setenv("PATH", "/usr/bin")
	got := commandEnv([]string{"HOME=/home/me", "PATH=/usr/bin", "https_proxy=http://proxy", "KUBECONFIG=/home/other"}, layout.Layout{Root: "/node"})
	last := map[string]string{} // what a command sees
	for _, variable := range got {
		name, value, _ := strings.Cut(variable, "=")
		last[name] = value
	}
	for name, want := range map[string]string{
		"HOME": "/home/me", "PATH": "/node/bin:/usr/bin", "KUBECONFIG": "/node/pki/admin.kubeconfig", "SERVICEBULKHEAD_NODE": "/node",
	} {
		if last[name] != want {
			t.Errorf("%s is %q, want %q", name, last[name], want)
		}
	}
	if proxy, set := last["https_proxy"]; set {
		t.Errorf("a proxy is left: %s", proxy)
	}
}

func TestTheLockSaysWhoIsUp(t *testing.T) {
	n := testNode{layout.Layout{Root: filepath.Join(t.TempDir(), "node")}}
	if pid, err := find(n.Layout); pid != 0 || err != nil {
		t.Errorf("nobody: %d, %v", pid, err)
	}
	lock, err := hold(n.Layout)
	if err != nil {
		t.Fatal(err)
	}
	if pid, err := find(n.Layout); pid != 0 || !errors.Is(err, errHeld) {
		t.Errorf("on its way: %d, %v", pid, err)
	}
	if err := os.MkdirAll(filepath.Dir(n.PIDFile()), 0o755); err != nil {
		t.Fatal(err)
	}
	writePID(t, n, os.Getpid()) // of an earlier node; the number is another process's now
	if pid, err := find(n.Layout); pid != 0 || !errors.Is(err, errHeld) {
		t.Errorf("on its way, with an old record: %d, %v", pid, err)
	}
	first := exec.Command("sleep", "600")
	first.ExtraFiles = []*os.File{lockFD - 3: lock}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	writePID(t, n, first.Process.Pid)
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if pid, err := find(n.Layout); pid != first.Process.Pid || err != nil {
		t.Errorf("up: %d, %v, want %d", pid, err, first.Process.Pid)
	}
	if err := kill(first.Process.Pid, time.Minute); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	if pid, err := patiently(time.Minute, n.Layout, find); pid != 0 || err != nil {
		t.Errorf("dead: %d, %v", pid, err)
	}
}

func TestDownWaitsForWhoeverIsOnTheWay(t *testing.T) {
	n := testNode{layout.Layout{Root: filepath.Join(t.TempDir(), "node")}}
	lock, err := hold(n.Layout) // as an up has it that fetches programs
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(4*lockPoll, func() { _ = lock.Close() })
	if err := down(n.Layout, t.Output()); err != nil {
		t.Error(err)
	}
}

func TestKillReturnsWhenAllIsOver(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := kill(cmd.Process.Pid, time.Minute); err != nil {
		t.Error(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Errorf("got %v, want it killed", err)
	}
	if err := kill(cmd.Process.Pid, time.Minute); err != nil {
		t.Errorf("of one that is gone: %v", err)
	}
}
