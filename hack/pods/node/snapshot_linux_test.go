// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// snapshot is what a node could change on a machine.
type snapshot struct {
	mounts     []string
	interfaces []string
	cgroups    map[string]bool
	sysctls    map[string]string
	entries    []string
}

// written are directories of the machine that components write to unless told
// otherwise.
var written = []string{"/", "/etc", "/opt", "/run", "/usr/libexec", "/usr/libexec/kubernetes", "/var/lib", "/var/log", "/opt/cni", "/etc/cni"}

func takeSnapshot(t *testing.T) snapshot {
	t.Helper()
	steady := sysctls(t)
	s := snapshot{
		mounts: mounts(t), interfaces: interfaces(t), cgroups: cgroups(t), entries: entries(), sysctls: sysctls(t),
	}
	// Whatever changes by itself is not the node's doing.
	maps.DeleteFunc(s.sysctls, func(name, value string) bool { return steady[name] != value })
	if len(s.mounts) == 0 || len(s.interfaces) == 0 || len(s.cgroups) == 0 || len(s.sysctls) < 100 || len(s.entries) == 0 {
		t.Fatalf("a snapshot that sees nothing: %d mounts, %d interfaces, %d cgroups, %d sysctls, %d entries",
			len(s.mounts), len(s.interfaces), len(s.cgroups), len(s.sysctls), len(s.entries))
	}
	t.Logf("compared are %d mounts, %d interfaces, %d cgroups, %d sysctls, %d entries of directories",
		len(s.mounts), len(s.interfaces), len(s.cgroups), len(s.sysctls), len(s.entries))
	return s
}

// compare fails the test if anything is not as it was.
func (s snapshot) compare(t *testing.T, n testNode) {
	t.Helper()
	n.expectNothing(t)
	expectSame(t, "mounts", s.mounts, mounts(t))
	expectSame(t, "interfaces", s.interfaces, interfaces(t))
	expectSame(t, "entries of directories", s.entries, entries())
	now := sysctls(t)
	for name, value := range s.sysctls {
		if now[name] != value {
			t.Errorf("sysctl %s is %q, was %q", name, now[name], value)
		}
	}
	// Others make cgroups, too, but not to leave them empty.
	eventually(t, 10*time.Second, func() error {
		for dir := range cgroups(t) {
			if !s.cgroups[dir] && empty(dir) {
				return fmt.Errorf("cgroup %s is new, and nobody is in it", dir)
			}
		}
		return nil
	})
}

// expectNothing fails the test if state, cgroups or processes of the node are left.
func (n testNode) expectNothing(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(n.Root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("state directory: %v, want it removed", err)
	}
	for dir := range cgroups(t) {
		if strings.Contains(dir, n.Cgroup()) {
			t.Errorf("cgroup %s is left", dir)
		}
	}
	for _, pid := range pids(t) {
		if words, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline")); strings.Contains(string(words), n.Root) {
			t.Errorf("process %s is left: %q", pid, words)
		}
	}
}

func expectSame(t *testing.T, what string, before, after []string) {
	t.Helper()
	for _, line := range after {
		if !slices.Contains(before, line) {
			t.Errorf("%s: new: %s", what, line)
		}
	}
	for _, line := range before {
		if !slices.Contains(after, line) {
			t.Errorf("%s: gone: %s", what, line)
		}
	}
}

func mounts(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}

func interfaces(t *testing.T) []string {
	t.Helper()
	found, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, each := range found {
		addresses, err := each.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprint(each.Index, each.Name, each.Flags, addresses))
	}
	return lines
}

func entries() []string {
	var paths []string
	for _, dir := range written {
		below, _ := filepath.Glob(filepath.Join(dir, "*"))
		paths = append(paths, below...)
	}
	return paths
}

func cgroups(t *testing.T) map[string]bool {
	t.Helper()
	dirs := map[string]bool{}
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone meanwhile
		}
		if err == nil && entry.IsDir() {
			dirs[path] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// empty reports whether there is no process in a cgroup and in none below it.
func empty(dir string) bool {
	occupied := errors.New("occupied")
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if processes, err := os.ReadFile(filepath.Join(path, "cgroup.procs")); err != nil || len(processes) > 0 {
			return occupied
		}
		return nil
	})
	return err == nil
}

// sysctls reads what is below /proc/sys and can be read.
func sysctls(t *testing.T) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, part := range []string{"kernel", "net", "vm", "fs"} {
		err := filepath.WalkDir("/proc/sys/"+part, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || counts(path) {
				return nil //nolint:nilerr // what cannot be read cannot be compared
			}
			if value, err := os.ReadFile(path); err == nil {
				values[path] = string(value)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return values
}

// counts reports whether a sysctl tells what goes on, and not what is set.
func counts(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(path, "/proc/sys/kernel/random/") || strings.HasPrefix(path, "/proc/sys/fs/quota/") || slices.Contains([]string{
		"ns_last_pid", "nr", "file-nr", "inode-nr", "inode-state", "dentry-state", "aio-nr", "nf_conntrack_count", "nf_conntrack_buckets",
	}, name)
}

// processesOf are the processes in the pid namespace of a node, by their ids
// outside, with their names. There are none without a node.
func processesOf(t *testing.T, n testNode) map[int]string {
	t.Helper()
	first, err := os.ReadFile(n.PIDFile())
	if err != nil {
		return nil
	}
	namespace := pidNamespace(strings.TrimSpace(string(first)))
	processes := map[int]string{}
	for _, pid := range pids(t) {
		if namespace == "" || pidNamespace(pid) != namespace {
			continue
		}
		name, _ := os.ReadFile(filepath.Join("/proc", pid, "comm"))
		number, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		processes[number] = strings.TrimSpace(string(name))
	}
	return processes
}

func pidNamespace(pid string) string {
	name, _ := os.Readlink(filepath.Join("/proc", pid, "ns", "pid"))
	return name
}

func pids(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for i, dir := range dirs {
		dirs[i] = filepath.Base(dir)
	}
	return dirs
}

func writePID(t *testing.T, n testNode, pid int) {
	t.Helper()
	if err := os.WriteFile(n.PIDFile(), []byte(strconv.Itoa(pid)), 0o644); err != nil {
		t.Fatal(err)
	}
}
