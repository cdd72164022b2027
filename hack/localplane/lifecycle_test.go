// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/servicebulkhead/servicebulkhead/hack/assets"
	"github.com/servicebulkhead/servicebulkhead/hack/assets/filelock"
)

func TestTwoPlanesSideBySide(t *testing.T) {
	first := sharedPlane(t)
	logs := t.TempDir()
	second, err := Start(t.Context(), Options{LogDir: logs})
	if err != nil {
		t.Fatal(err)
	}
	pids := second.Processes()
	only := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "only-in-the-second"}}
	if _, err := clientOf(t, second).CoreV1().Namespaces().Create(t.Context(), only, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := clientOf(t, first).CoreV1().Namespaces().Get(t.Context(), only.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the first plane knows what was made in the second: %v", err)
	}
	start := time.Now()
	if err := errors.Join(second.Stop(), second.Stop()); err != nil {
		t.Error(err)
	}
	t.Logf("Stop took %s", time.Since(start).Round(time.Millisecond))
	wantNothingLeft(t, second, pids)
	if log, err := os.ReadFile(filepath.Join(logs, "kube-apiserver.log")); err != nil || len(log) == 0 {
		t.Errorf("log in LogDir after Stop: %d bytes, %v", len(log), err)
	}
	if _, err := clientOf(t, first).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Errorf("the first plane after the second has stopped: %v", err)
	}
}

func TestPlaneWithoutControllerManager(t *testing.T) {
	plane, err := Start(t.Context(), Options{WithoutControllerManager: true})
	if err != nil {
		t.Fatal(err)
	}
	pids := plane.Processes()
	if len(pids) != 2 {
		t.Errorf("processes %v, want etcd and kube-apiserver", pids)
	}
	if err := plane.Stop(); err != nil {
		t.Error(err)
	}
	wantNothingLeft(t, plane, pids)
}

func TestKilledHolderLeavesNoProcess(t *testing.T) {
	temp := t.TempDir()
	holder := exec.CommandContext(t.Context(), os.Args[0])
	holder.Env = append(os.Environ(), holderEnv+"=1", "TMPDIR="+temp)
	holder.Stderr = os.Stderr
	stdout, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	var pids map[string]int
	decodeErr := json.NewDecoder(stdout).Decode(&pids)
	if err := holder.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = holder.Wait()
	if decodeErr != nil || len(pids) != 3 {
		t.Fatalf("processes of the holder: %v, %v", pids, decodeErr)
	}
	start := time.Now()
	for name, pid := range pids {
		eventually(t, name+" is gone", func(context.Context) bool { return !alive(pid) })
	}
	t.Logf("gone %s after the kill", time.Since(start).Round(time.Millisecond))
	if left := glob(t, temp); len(left) != 1 {
		t.Fatalf("left behind: %q, want the plane's directory alone", left)
	}
	removeAbandoned(temp)
	if left := glob(t, temp); len(left) != 0 {
		t.Errorf("after the next start's cleaning: %q", left)
	}
}

func TestDirectoryInUseIsNotAbandoned(t *testing.T) {
	temp := t.TempDir()
	held, err := makeRoot(temp)
	if err != nil {
		t.Fatal(err)
	}
	removeAbandoned(temp)
	if _, err := os.Stat(held.dir); err != nil {
		t.Errorf("directory of a live plane: %v", err)
	}
	if _, err := filelock.Try(held.path(lockName)); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("its lock: %v", err)
	}
	if err := held.remove(); err != nil {
		t.Error(err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	binaries := realAssets(t)
	for name, after := range map[string]string{"before anything": "", "while etcd starts": "etcd", "while kube-apiserver starts": "kube-apiserver"} {
		t.Run(name, func(t *testing.T) {
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				defer cancel()
				if after != "" {
					waitForFile(t.Context(), filepath.Join(temp, rootPrefix+"*", "pid", after))
				}
			}()
			if plane, err := Start(ctx, Options{Assets: binaries}); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, %v; want context.Canceled", plane, err)
			}
			if left := glob(t, temp); len(left) != 0 {
				t.Errorf("files left: %q", left)
			}
			wantNoProcessMentioning(t, temp)
		})
	}
}

func TestStartTellsWhatTheComponentSaid(t *testing.T) {
	temp, binaries := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	writeScript(t, filepath.Join(binaries, "etcd"), "echo the disk is made of cheese; exit 3")
	writeScript(t, filepath.Join(binaries, "kube-apiserver"), "exit 3")
	_, err := Start(t.Context(), Options{Assets: binaries, WithoutControllerManager: true})
	if err == nil || !strings.Contains(err.Error(), "etcd.log") || !strings.Contains(err.Error(), "made of cheese") {
		t.Errorf("got %v, want an error with etcd's words", err)
	}
	if left := glob(t, temp); len(left) != 0 {
		t.Errorf("files left: %q", left)
	}
}

func TestBinariesWithoutControllerManagerAreRefused(t *testing.T) {
	_, err := Start(t.Context(), Options{Assets: t.TempDir()})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), controllerManager) || !strings.Contains(err.Error(), assets.Env) {
		t.Errorf("got %v, want an error that says what is missing and what to do", err)
	}
}

func TestAComponentThatDiesEndsTheStart(t *testing.T) {
	binaries, source := t.TempDir(), realAssets(t)
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if err := os.Symlink(filepath.Join(source, name), filepath.Join(binaries, name)); err != nil {
			t.Fatal(err)
		}
	}
	writeScript(t, filepath.Join(binaries, controllerManager), "echo no controllers today; exit 3")
	_, err := Start(t.Context(), Options{Assets: binaries})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no controllers today") {
		t.Errorf("got %v, want an error that says how it ended", err)
	}
}

func realAssets(t *testing.T) string {
	t.Helper()
	dir, err := assets.Dir(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeScript(t *testing.T, path, body string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func glob(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// waitForFile returns when there is a file of that pattern, or when ctx ends.
func waitForFile(ctx context.Context, pattern string) {
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for ctx.Err() == nil {
		<-ticker.C
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return
		}
	}
}

func wantNothingLeft(t *testing.T, plane *Plane, pids map[string]int) {
	t.Helper()
	if len(pids) == 0 {
		t.Error("no processes were recorded")
	}
	for name, pid := range pids {
		if alive(pid) {
			t.Errorf("%s: process %d is still there", name, pid)
		}
	}
	if _, err := os.Stat(plane.root.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("directory of the plane: %v", err)
	}
}

// wantNoProcessMentioning looks for processes with the text in their command line.
func wantNoProcessMentioning(t *testing.T, text string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Log("no /proc here: left processes are not looked for")
		return
	}
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), text) {
			t.Errorf("left: %s %q", file, line)
		}
	}
}
