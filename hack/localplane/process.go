// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// pollInterval is how often something is looked at that cannot be waited for.
const pollInterval = 50 * time.Millisecond

// killWait is how long a process that was stopped or killed may take to vanish.
const killWait = 3 * time.Second

// endAll returns when none of the processes is left. What its component could
// not stop is killed.
func endAll(pids map[string]int) error {
	var errs []error
	for name, pid := range pids {
		if gone(pid, killWait) {
			continue
		}
		killGroup(pid)
		if !gone(pid, killWait) {
			errs = append(errs, fmt.Errorf("%s: process %d is still there after SIGKILL", name, pid))
		}
	}
	return errors.Join(errs...)
}

// killGroup kills a component and whatever it started: each leads a group.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// gone reports whether the process has ended, or does so within the time.
func gone(pid int, within time.Duration) bool {
	deadline := time.Now().Add(within)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for alive(pid) {
		if time.Now().After(deadline) {
			return false
		}
		<-ticker.C
	}
	return true
}

// alive reports whether there is such a process. One that has ended and that
// nobody has waited for yet is not alive.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, syscall.ESRCH) // no /proc here, or it has just ended
	}
	// "pid (name) state …", where the name may hold anything, parentheses too.
	_, state, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')'):]), " ")
	return !strings.HasPrefix(state, "Z")
}
