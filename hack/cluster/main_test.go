// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mainEnv makes the test binary the command itself.
const mainEnv = "CLUSTER_TEST_MAIN"

// patience is how long the command may take for what it does in seconds.
const patience = time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func cluster(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), mainEnv+"=1")
	cmd.Stderr = os.Stderr
	return cmd
}

func TestCommandSeesThePlaneAndGivesTheExitCode(t *testing.T) {
	out, err := cluster(t, "--", "sh", "-c", "kubectl get namespace default -o name && exit 7").Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("got %v, want exit code 7", err)
	}
	if strings.TrimSpace(string(out)) != "namespace/default" {
		t.Errorf("kubectl said %q", out)
	}
}

func TestAssetsPrintsTheDirectory(t *testing.T) {
	out, err := cluster(t, "assets").Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(strings.TrimSpace(string(out)), "kube-apiserver")); err != nil {
		t.Error(err)
	}
}

func TestAnythingElseIsRefused(t *testing.T) {
	for _, args := range [][]string{{"start"}, {"--"}, {"assets", "now"}, {"-h"}} {
		if err := run(t.Context(), args); err == nil || err.Error() != usage {
			t.Errorf("cluster %q: got %v, want the usage", args, err)
		}
	}
}

func TestSignalStopsEverything(t *testing.T) {
	cmd := cluster(t)
	lines := start(t, cmd)
	kubeconfig := waitForKubeconfig(t, lines)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitForEnd(t, lines)
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	wantGone(t, kubeconfig)
}

// `go run` and make end on a SIGTERM without a word to what they run.
func TestEndOfTheParentStopsEverything(t *testing.T) {
	parent := exec.CommandContext(t.Context(), "sh", "-c", `"$0" & wait`, os.Args[0])
	parent.Env = append(os.Environ(), mainEnv+"=1")
	lines := start(t, parent)
	kubeconfig := waitForKubeconfig(t, lines)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitForEnd(t, lines)
	_ = parent.Wait()
	wantGone(t, kubeconfig)
}

// start starts the command and returns what it and its children print, line by
// line; closed when the last of them has ended.
func start(t *testing.T, cmd *exec.Cmd) <-chan string {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}

func waitForKubeconfig(t *testing.T, lines <-chan string) string {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case line, open := <-lines:
			if _, path, found := strings.Cut(line, "export KUBECONFIG="); found {
				return path
			}
			if !open {
				t.Fatal("ended without a word about KUBECONFIG")
			}
		case <-timeout:
			t.Fatalf("no word about KUBECONFIG within %s", patience)
		}
	}
}

func waitForEnd(t *testing.T, lines <-chan string) {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case _, open := <-lines:
			if !open {
				return
			}
		case <-timeout:
			t.Fatalf("still running after %s", patience)
		}
	}
}

func wantGone(t *testing.T, kubeconfig string) {
	t.Helper()
	if _, err := os.Stat(kubeconfig); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the plane's directory is still there: %v", err)
	}
}

// TestHowTo: what people are told to apply is there, and warnings are part of it.
func TestHowTo(t *testing.T) {
	var applied []string
	for line := range strings.Lines(howTo) {
		if words := strings.Fields(line); len(words) == 4 && words[0] == "kubectl" && words[1] == "apply" {
			applied = append(applied, words[3])
		}
	}
	if want := []string{"config/crd", "config/policies", "config/samples"}; !slices.Equal(applied, want) {
		t.Errorf("got %q, want %q", applied, want)
	}
	for _, path := range applied {
		if _, err := os.Stat(filepath.Join("../..", path)); err != nil {
			t.Error(err)
		}
	}
}
