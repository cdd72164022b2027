// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/types"
)

// processes returns the processes of a pod that run this program: those whose cgroup
// is the pod's.
func processes(pod types.UID, program string) ([]int, error) {
	uid := string(pod) // a systemd slice has underscores in it
	return find(program, func(cgroup string) bool {
		return strings.Contains(cgroup, uid) || strings.Contains(cgroup, strings.ReplaceAll(uid, "-", "_"))
	})
}

// find returns the processes of this program whose cgroup is right.
func find(program string, right func(cgroup string) bool) ([]int, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || filepath.Base(argument(line)) != program {
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

// signal sends a signal to processes, those that have ended left out.
func signal(pids []int, sig syscall.Signal) error {
	for _, pid := range pids {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("send %v to process %d: %w", sig, pid, err)
		}
	}
	return nil
}

// gone says that none of the processes is there any more, but for what is left of one
// until its parent looks.
func gone(pids []int) bool {
	for _, pid := range pids {
		if state := status(pid)["State"]; state != "" && state[0] != 'Z' && state[0] != 'X' {
			return false
		}
	}
	return true
}

// told says that each of the processes, all of them frozen, has a signal waiting.
func told(pids []int, sig syscall.Signal) bool {
	for _, pid := range pids {
		waiting, err := strconv.ParseUint(status(pid)["ShdPnd"], 16, 64)
		if err != nil || waiting&(1<<(sig-1)) == 0 {
			return false
		}
	}
	return true
}

// status reads what the kernel says of a process (proc_pid_status(5)); nothing, when
// it has ended.
func status(pid int) map[string]string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return nil
	}
	lines := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		lines[name] = strings.TrimSpace(value)
	}
	return lines
}
