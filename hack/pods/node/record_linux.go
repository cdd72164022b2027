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

// lockPoll is how often a lock is tried that somebody has.
const lockPoll = 50 * time.Millisecond

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

// holdWithin is hold, but waits for whoever has the lock to give it back.
func holdWithin(node layout.Layout, patience time.Duration) (*os.File, error) {
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	deadline := time.Now().Add(patience)
	for {
		file, err := hold(node)
		if !errors.Is(err, errHeld) || time.Now().After(deadline) {
			return file, err
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
	text, err := os.ReadFile(node.PIDFile())
	if err != nil {
		return 0, fmt.Errorf("%w, or on its way: %s is not written yet", errHeld, node.PIDFile())
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
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
