// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// children are the processes that were started here, among all those that pid 1
// has to wait for: orphans become its children too. Since a wait for any child
// would take their states away from os/exec, one place waits for all.
type children struct {
	mu     sync.Mutex
	ending map[int]chan unix.WaitStatus
}

// reapChildren waits for children from here on, as long as the process lives.
func reapChildren() *children {
	c := &children{ending: map[int]chan unix.WaitStatus{}}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	go func() {
		for range ended {
			c.reap()
		}
	}()
	return c
}

// reap takes the states of all that have ended. Signals may come together, so that
// one stands for several children.
func (c *children) reap() {
	c.mu.Lock() // a child that ends at once must be known by then, see start
	defer c.mu.Unlock()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if pid <= 0 || err != nil {
			return
		}
		if ending, known := c.ending[pid]; known {
			delete(c.ending, pid)
			ending <- status
		}
	}
}

// start starts a program, its output in the file, and returns a channel that says
// once how it ended.
func (c *children) start(path string, args, env []string, output *os.File) (<-chan unix.WaitStatus, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	process, err := os.StartProcess(path, append([]string{path}, args...), &os.ProcAttr{
		Env:   env,
		Files: []*os.File{nil, output, output},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, err
	}
	ending := make(chan unix.WaitStatus, 1)
	c.ending[process.Pid] = ending
	return ending, process.Release()
}
