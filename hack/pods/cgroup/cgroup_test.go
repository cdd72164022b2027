// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const hybrid = `22 27 0:21 / /proc rw,relatime - proc none rw
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs none rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup none rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory ro,relatime - cgroup none rw,memory
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup systemd rw,xattr,release_agent=/lib/agent,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 none rw
`

const unified = `22 27 0:21 / /proc rw,relatime - proc none rw
31 23 0:28 / /sys/fs/cgroup ro,nosuid shared:4 - cgroup2 none rw,nsdelegate
`

func TestParseVersion1(t *testing.T) {
	tree := parse(hybrid)
	if tree.Unified || len(tree.Hierarchies) != 4 {
		t.Fatalf("got %+v, want four hierarchies of version 1", tree)
	}
	for controller, dir := range map[string]string{
		"cpu": "/sys/fs/cgroup/cpu,cpuacct", "cpuacct": "/sys/fs/cgroup/cpu,cpuacct",
		"memory": "/sys/fs/cgroup/memory", "name=systemd": "/sys/fs/cgroup/systemd",
	} {
		hierarchy, found := tree.Find(controller)
		if !found || hierarchy.Dir != dir || hierarchy.ReadOnly != (controller == "memory") {
			t.Errorf("%s: got %+v, %t", controller, hierarchy, found)
		}
	}
	for _, option := range []string{"rw", "xattr", "release_agent=/lib/agent"} {
		if _, found := tree.Find(option); found {
			t.Errorf("the option %s was taken for a controller", option)
		}
	}
}

func TestParseVersion2(t *testing.T) {
	tree := parse(unified)
	if !tree.Unified || len(tree.Hierarchies) != 1 || tree.Hierarchies[0].Dir != "/sys/fs/cgroup" || !tree.Hierarchies[0].ReadOnly {
		t.Errorf("got %+v", tree)
	}
}

// A directory stands for a hierarchy: it has no files that would go by themselves.
func TestMakeAndRemove(t *testing.T) {
	cpuset, memory, readOnly := t.TempDir(), t.TempDir(), t.TempDir()
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		if err := os.WriteFile(filepath.Join(cpuset, file), []byte("0-1"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree := Tree{Hierarchies: []Hierarchy{{Dir: cpuset, Controllers: []string{"cpuset"}}, {Dir: memory, Controllers: []string{"memory"}}, {Dir: readOnly, ReadOnly: true}}}
	for range 2 { // the second time it is there
		if err := tree.Make("node"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(readOnly, "node")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("made in a hierarchy that is read-only: %v", err)
	}
	if cpus, err := os.ReadFile(filepath.Join(cpuset, "node", "cpuset.cpus")); string(cpus) != "0-1" {
		t.Errorf("processors of the new cgroup: %q, %v; want the parent's", cpus, err)
	}
	if err := os.MkdirAll(filepath.Join(memory, "node", "pods", "one"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := tree.removeOnce("node"); err == nil {
		t.Error("removed a cgroup that is in use")
	}
	if _, err := os.Stat(filepath.Join(memory, "node")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the other hierarchy: %v, want it removed", err)
	}
}

func TestRemoveWaitsForWhoeverIsInside(t *testing.T) {
	hierarchy := t.TempDir()
	inUse := filepath.Join(hierarchy, "node", "process")
	if err := os.Mkdir(filepath.Dir(inUse), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(inUse, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	tree := Tree{Hierarchies: []Hierarchy{{Dir: hierarchy}}}
	if err := tree.Remove("node", 2*removePoll); err == nil {
		t.Error("no error though the cgroup is in use all the time")
	}
	time.AfterFunc(2*removePoll, func() { _ = os.Remove(inUse) })
	if err := tree.Remove("node", time.Minute); err != nil {
		t.Error(err)
	}
}
