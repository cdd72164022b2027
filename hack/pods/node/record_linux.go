// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
)

const (
	// lockPoll is how often a lock is tried that somebody has.
	lockPoll = 50 * time.Millisecond
	// glance is longer than find has the lock.
	glance = 200 * time.Millisecond
)

// errHeld says that a node is up, or on its way.
var errHeld = errors.New("the node is up")

// hold takes the node's lock, which lives as long as the file is open in any
// process: the first process of a node inherits it. Unlike a process id alone it
// cannot be taken for another process's.
func hold(node layout.Layout) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(node.LockFile()), 0o755); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	file, err := os.OpenFile(node.LockFile(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = errHeld
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// patiently tries again as long as somebody has the lock, until patience is over.
func patiently[T any](patience time.Duration, node layout.Layout, try func(layout.Layout) (T, error)) (T, error) {
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	deadline := time.Now().Add(patience)
	for {
		result, err := try(node)
		if !errors.Is(err, errHeld) || time.Now().After(deadline) {
			return result, err
		}
		<-ticker.C
	}
}

// find returns the process id of the first process of a node that is up. It is 0,
// with errHeld, while the node is on its way, and 0 without an error when there is
// none.
func find(node layout.Layout) (int, error) {
	file, err := hold(node)
	if err == nil {
		return 0, file.Close()
	}
	if !errors.Is(err, errHeld) {
		return 0, err
	}
	if pid := recorded(node); pid != 0 {
		return pid, nil
	}
	if os.Getenv(insideEnv) == node.Root {
		return 0, errors.New("this runs inside the node, which takes its orders from outside")
	}
	return 0, fmt.Errorf("%w, or on its way: %s does not name its first process", errHeld, node.PIDFile())
}

// recorded returns the process id in the record if it is that of the node's first
// process, and 0 otherwise. The lock alone does not tell: the record may be that of
// an earlier node, which an up that has the lock now has not cleared away yet.
func recorded(node layout.Layout) int {
	text, _ := os.ReadFile(node.PIDFile())
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	lock, err := os.Stat(node.LockFile())
	if err != nil {
		return 0
	}
	open, err := os.Stat(fmt.Sprintf("/proc/%d/fd/%d", pid, lockFD))
	if err != nil || !os.SameFile(lock, open) {
		return 0
	}
	return pid
}

// kill kills the process, and returns when it is gone; of a node's first process
// that means everything inside.
func kill(pid int, patience time.Duration) error {
	process, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(process) }()
	if err := unix.PidfdSendSignal(process, syscall.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d: %w", pid, err)
	}
	// A process is readable once it has ended.
	ended := []unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}
	for {
		count, err := unix.Poll(ended, int(patience.Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("wait for process %d: %w", pid, err)
		case count == 0:
			return fmt.Errorf("process %d is still there %s after SIGKILL", pid, patience)
		default:
			return nil
		}
	}
}
