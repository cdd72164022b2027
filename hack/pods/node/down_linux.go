// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
	pid, err := patiently(killPatience, node, find) // a node that is on its way is waited for
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
	lock, err := patiently(killPatience, node, hold)
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
	if err := wipe(node); err != nil {
		return fmt.Errorf("state of the node: %w", err)
	}
	return nil
}

// wipe removes a node's directory. -root may be a slip: a directory with anything in
// it, but without the list of a node's programs, is somebody else's.
func wipe(node layout.Layout) error {
	entries, err := os.ReadDir(node.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(node.PartsFile()); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty and not a node's, and left as it is: %w", node.Root, err)
	}
	for _, entry := range entries { // the list goes last, for whoever has to resume this
		if entry.Name() == filepath.Base(filepath.Dir(node.PartsFile())) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(node.Root, entry.Name())); err != nil {
			return err
		}
	}
	return os.RemoveAll(node.Root)
}

// mountsBelow returns the mount points in dir, of a mountinfo.
func mountsBelow(mountinfo, dir string) []string {
	var below []string
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if point := unescape.Replace(fields[4]); strings.HasPrefix(point, dir+"/") {
			below = append(below, point)
		}
	}
	return below
}
