// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stub stands for go and for the programs that it builds: it notes its call in the
// file log, says what a variable of the environment would be, and fails or waits for
// a line in held if it is to.
const stub = `#!/bin/bash
cd "$(dirname "$(readlink -f "$0")")/.."
call="$(basename "$0") $*"
echo "$call" >>log
echo "CALL=$call"
[[ $call != *"${HOLD:-nothing}"* ]] || read -r line <>held
[[ $call != *"${FAIL:-nothing}"* ]] || exit 7
`

// newScript is a repository in which on-a-node is real, and all else a stub.
func newScript(t *testing.T, env ...string) (cmd *exec.Cmd, dir string) {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("..", "on-a-node"))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	files := map[string]string{"hack/pods/on-a-node": string(script), "log": ""}
	for _, name := range []string{"go", "node", "images", "e2e.test", "demo-pods"} {
		files["bin/"+name] = stub
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "held"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), filepath.Join(dir, "hack", "pods", "on-a-node"), "e2e")
	cmd.Env = append([]string{"PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin"}, env...)
	return cmd, dir
}

// calls are those of node, and of the tests that do not run on one.
func calls(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); words[0] == "node" || words[0] == "e2e.test" {
			lines = append(lines, strings.Join(words[:min(4, len(words))], " "))
		}
	}
	return strings.Join(lines, ", ")
}

func TestOnANode(t *testing.T) {
	const (
		none    = "FAIL=run -- true"
		look    = "node run -- true"
		tests   = "node run -- bin/e2e.test"
		load    = "node load dist/images/*.tar dist/next/*.tar"
		cluster = "KUBECONFIG=k"
	)
	for name, test := range map[string]struct {
		env  []string
		code int
		want string
	}{
		"a node that is up stays up":         {nil, 0, look + ", " + load + ", " + tests},
		"also when the tests fail":           {[]string{"FAIL=bin/e2e.test -ginkgo"}, 7, look + ", " + load + ", " + tests},
		"one that is not, only meanwhile":    {[]string{none}, 0, look + ", node check, node up, " + load + ", " + tests + ", node down"},
		"or longer":                          {[]string{none, "DEMO_KEEP=1"}, 0, look + ", node check, node up, " + load + ", " + tests},
		"no node without tests that compile": {[]string{"FAIL=go test -c"}, 7, look},
		"no node without images":             {[]string{"FAIL=images build"}, 7, look},
		"a cluster":                          {[]string{cluster, "REGISTRY=r"}, 0, "e2e.test -ginkgo.no-color -ginkgo.v -test.timeout"},
		"a cluster, tests do not compile":    {[]string{cluster, "REGISTRY=r", "FAIL=go test -c"}, 7, ""},
		"a cluster, images are not pushed":   {[]string{cluster, "REGISTRY=r", "FAIL=images push"}, 7, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, dir := newScript(t, test.env...)
			output, _ := cmd.CombinedOutput()
			if got := calls(t, dir); got != test.want || cmd.ProcessState.ExitCode() != test.code {
				t.Errorf("exit code %d after %q, want %d after %q\n%s", cmd.ProcessState.ExitCode(), got, test.code, test.want, output)
			}
		})
	}
}

// A signal reaches the script alone, as one from a supervisor of jobs does.
func TestOnANodeThatIsEndedTakesTheNodeDown(t *testing.T) {
	for _, held := range []string{"node up", "node load", "node run -- bin/e2e.test"} {
		t.Run(held, func(t *testing.T) {
			cmd, dir := newScript(t, "FAIL=run -- true", "HOLD="+held)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, time.Minute, func() error {
				if got := calls(t, dir); !strings.Contains(got, held) {
					return fmt.Errorf("no call of %s in %q", held, got)
				}
				return nil
			})
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "held"), []byte("go on\n"), 0); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			if got := calls(t, dir); !strings.HasSuffix(got, ", node down") || err == nil {
				t.Errorf("got %v after %q, want an error after node down", err, got)
			}
		})
	}
}
