// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
)

func TestMountsBelow(t *testing.T) {
	const mountinfo = `27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
31 23 0:28 / /cache/node/var/x rw,relatime - tmpfs none rw
32 23 0:28 / /cache/node2/var rw,relatime - tmpfs none rw
`
	if got := mountsBelow(mountinfo, "/cache/node"); !slices.Equal(got, []string{"/cache/node/var/x"}) {
		t.Errorf("got %q", got)
	}
}

func TestExitCode(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 5": 5, "kill -TERM $$": 128 + 15} {
		if got := exitCode(exec.Command("sh", "-c", script).Run()); got != want {
			t.Errorf("%s: %d, want %d", script, got, want)
		}
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
	if _, err := locate("/"); err == nil {
		t.Error("-root / is taken: down would remove it")
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
	writePID(t, n, 4711)
	if pid, err := find(n.Layout); pid != 4711 || err != nil {
		t.Errorf("up: %d, %v", pid, err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if pid, err := find(n.Layout); pid != 0 || err != nil {
		t.Errorf("dead: %d, %v", pid, err)
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
