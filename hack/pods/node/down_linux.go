// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/cgroup"
	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
)

// killPatience is how long a killed node, and then its cgroups, may take to go.
const killPatience = 30 * time.Second

// down ends the node, if there is one, and removes its state.
func down(node layout.Layout, out io.Writer) error {
	started := time.Now()
	pid, err := find(node)
	if err != nil {
		return err
	}
	if pid != 0 {
		if err := kill(pid, killPatience); err != nil {
			return err
		}
	}
	// From here on nobody else starts or clears it. An up that was under way has
	// lost its node, and clears it first.
	lock, err := holdWithin(node, killPatience)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := clear(node); err != nil {
		return err
	}
	words := fmt.Sprintf("the node is down, after %.1f s", time.Since(started).Seconds())
	if pid == 0 {
		words = "the node was not up"
	}
	_, _ = fmt.Fprintln(out, words)
	return nil
}

// clear removes what a node has left: cgroups and state. The caller holds the
// lock, and no process of the node is left.
func clear(node layout.Layout) error {
	tree, err := cgroup.Find()
	if err != nil {
		return err
	}
	if err := tree.Remove(node.Cgroup(), killPatience); err != nil {
		return fmt.Errorf("cgroups of the node: %w", err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("mounts: %w", err)
	}
	// The node's mounts went with its namespace. If there are others, removing the
	// directory would remove what they lead to.
	if below := mountsBelow(string(mounts), node.Root); len(below) > 0 {
		return fmt.Errorf("something is mounted in the node's directory, which is left as it is: %s", strings.Join(below, ", "))
	}
	if err := os.RemoveAll(node.Root); err != nil {
		return fmt.Errorf("state of the node: %w", errors.Unwrap(err))
	}
	return nil
}

// mountsBelow returns the mount points in dir, of a mountinfo.
func mountsBelow(mountinfo, dir string) []string {
	var below []string
	for line := range strings.Lines(mountinfo) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
			below = append(below, fields[4])
		}
	}
	return below
}
