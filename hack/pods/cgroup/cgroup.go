// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// unifiedDir is where the one hierarchy of version 2 is mounted. With version 1
// it is a tmpfs that holds the mounts of the hierarchies.
const unifiedDir = "/sys/fs/cgroup"

// Tree is the cgroup hierarchies of a machine.
type Tree struct {
	// Unified says that there is the one hierarchy of version 2.
	Unified bool
	// Hierarchies are all that pods' cgroups are made in. There is none if
	// cgroups are not mounted.
	Hierarchies []Hierarchy
}

// Hierarchy is one mount, with the controllers that work in it.
type Hierarchy struct {
	Dir         string
	Controllers []string
	// ReadOnly says that no cgroup can be made in it.
	ReadOnly bool
}

// Find looks for the hierarchies where this process sees them mounted.
func Find() (Tree, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Tree{}, fmt.Errorf("cgroups: %w", err)
	}
	tree := parse(string(mounts))
	if tree.Unified {
		controllers, err := os.ReadFile(filepath.Join(unifiedDir, "cgroup.controllers"))
		if err != nil {
			return Tree{}, fmt.Errorf("cgroups: %w", err)
		}
		tree.Hierarchies[0].Controllers = strings.Fields(string(controllers))
	}
	return tree, nil
}

// parse reads mountinfo, see proc_pid_mountinfo(5). The controllers of version 2
// are not in it.
func parse(mountinfo string) Tree {
	var tree Tree
	for line := range strings.Lines(mountinfo) {
		mount, filesystem, _ := strings.Cut(line, " - ")
		left, right := strings.Fields(mount), strings.Fields(filesystem)
		if len(left) < 6 || len(right) < 3 {
			continue
		}
		dir, options := left[4], strings.Split(left[5], ",")
		hierarchy := Hierarchy{Dir: dir, ReadOnly: slices.Contains(options, "ro")}
		switch {
		case right[0] == "cgroup2" && dir == unifiedDir:
			return Tree{Unified: true, Hierarchies: []Hierarchy{hierarchy}}
		case right[0] == "cgroup2": // beside version 1, without controllers; runc uses it all the same
			tree.Hierarchies = append(tree.Hierarchies, hierarchy)
		case right[0] == "cgroup":
			hierarchy.Controllers = controllers(right[2])
			tree.Hierarchies = append(tree.Hierarchies, hierarchy)
		}
	}
	return tree
}

// controllers are those among the options of a mounted hierarchy of version 1:
// "rw,cpu,cpuacct", "rw,xattr,name=systemd".
func controllers(options string) []string {
	return slices.DeleteFunc(strings.Split(options, ","), func(option string) bool {
		return slices.Contains([]string{"rw", "ro", "xattr", "noprefix", "clone_children", "cpuset_v2_mode"}, option) ||
			strings.HasPrefix(option, "release_agent=")
	})
}

// Find returns the hierarchy that a controller works in.
func (t Tree) Find(controller string) (Hierarchy, bool) {
	at := slices.IndexFunc(t.Hierarchies, func(h Hierarchy) bool { return slices.Contains(h.Controllers, controller) })
	if at < 0 {
		return Hierarchy{}, false
	}
	return t.Hierarchies[at], true
}

// Make makes the cgroup in every hierarchy that can be written, ready to have cgroups
// below it.
func (t Tree) Make(name string) error {
	for _, hierarchy := range t.Hierarchies {
		if hierarchy.ReadOnly {
			continue
		}
		if err := hierarchy.make(name, t.Unified); err != nil {
			return fmt.Errorf("cgroup %s: %w", name, err)
		}
	}
	return nil
}

func (h Hierarchy) make(name string, unified bool) error {
	dir := filepath.Join(h.Dir, name)
	if unified {
		h.delegate()
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	h.weigh(dir, unified)
	if unified || !slices.Contains(h.Controllers, "cpuset") {
		return nil
	}
	// In version 1 a new cgroup has no processors and no memory, until told.
	return errors.Join(inherit(h.Dir, dir, "cpuset.cpus"), inherit(h.Dir, dir, "cpuset.mems"))
}

// weigh gives the cgroup eight times the share of the processors that one process has
// by default: all pods are in it, and together they would count as one process. Where
// that is not to be had, pods are slower on a busy machine.
func (h Hierarchy) weigh(dir string, unified bool) {
	switch {
	case unified:
		_ = os.WriteFile(filepath.Join(dir, "cpu.weight"), []byte("800"), 0)
	case slices.Contains(h.Controllers, "cpu"):
		_ = os.WriteFile(filepath.Join(dir, "cpu.shares"), []byte("8192"), 0)
	}
}

// delegated are the controllers of version 2 that the kubelet and runc use.
var delegated = []string{"cpu", "cpuset", "memory", "pids", "io", "hugetlb"}

// delegate makes the controllers work below the root, where they stay at work. One
// that cannot is not the end: the kubelet names it if it needs it.
func (h Hierarchy) delegate() {
	for _, controller := range delegated {
		_ = os.WriteFile(filepath.Join(h.Dir, "cgroup.subtree_control"), []byte("+"+controller), 0)
	}
}

func inherit(parent, child, file string) error {
	value, err := os.ReadFile(filepath.Join(parent, file))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(child, file), value, 0)
}

// removePoll is how often a cgroup is tried that is still in use.
const removePoll = 50 * time.Millisecond

// Remove removes the cgroup and all below it from every hierarchy. A process that
// was killed leaves its cgroup a little later: Remove waits for it until patience
// is over.
func (t Tree) Remove(name string, patience time.Duration) error {
	ticker := time.NewTicker(removePoll)
	defer ticker.Stop()
	deadline := time.Now().Add(patience)
	for {
		err := t.removeOnce(name)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		<-ticker.C
	}
}

func (t Tree) removeOnce(name string) error {
	var errs []error
	for _, hierarchy := range t.Hierarchies {
		errs = append(errs, removeBelow(filepath.Join(hierarchy.Dir, name)))
	}
	return errors.Join(errs...)
}

// removeBelow removes directories, the innermost first: a cgroup's files go with it.
func removeBelow(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, entry := range entries {
		if entry.IsDir() {
			errs = append(errs, removeBelow(filepath.Join(dir, entry.Name())))
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
