// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import "syscall"

// attributes put a child into a group of its own, and have the kernel kill it when
// the thread that started it ends (golang/go#27505).
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
