// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// processes returns the processes of a pod that run this program: those whose cgroup
// is the pod's. There are none where the node's processes are not ours to see.
func processes(pod types.UID, program string) ([]int, error) {
	uid := string(pod) // a systemd slice has underscores in it
	return find(program, func(cgroup string) bool {
		return strings.Contains(cgroup, uid) || strings.Contains(cgroup, strings.ReplaceAll(uid, "-", "_"))
	})
}

// find returns the processes of this program whose cgroup is right.
func find(program string, right func(cgroup string) bool) ([]int, error) {
	if remote() {
		return nil, nil
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if errors.Is(err, os.ErrNotExist) || err == nil && filepath.Base(argument(line)) != program {
			continue
		}
		cgroup, err := os.ReadFile(filepath.Join(dir, "cgroup"))
		if err != nil || !right(string(cgroup)) {
			continue // it has ended meanwhile, or is somebody else's
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// kubelets returns the node's kubelets, which are one.
func kubelets() ([]int, error) {
	return find("kubelet", func(string) bool { return true })
}

// argument is the first of a command line: the program.
func argument(line []byte) string {
	first, _, _ := bytes.Cut(line, []byte{0})
	return string(first)
}

// allGone says that none of the processes is there any more, but for what is left of
// one until its parent looks.
func allGone(pids []int) bool {
	for _, pid := range pids {
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err == nil && !zombie(string(stat)) {
			return false
		}
	}
	return true
}

// zombie reads the state from a process's stat: what follows the name in brackets.
func zombie(stat string) bool {
	_, rest, _ := strings.Cut(stat, ") ")
	return strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}
