// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// dieWithParentEnv makes the project's binaries end when the process with this
// id does; see hack/kubernetes.
const dieWithParentEnv = "SERVICEBULKHEAD_DIE_WITH_PARENT"

// writeLauncher writes a script into dir that becomes the binary, and returns its
// path. envtest neither tells the ids of its processes nor lets their environment
// be set; the script does both, and needs no help from the binary.
func writeLauncher(dir, name, binary, pidDir string) (string, error) {
	script := fmt.Sprintf(`#!/bin/sh
[ "$1" = --help ] || echo $$ >%s
export %s=%d
exec %s "$@"
`, quote(filepath.Join(pidDir, name)), dieWithParentEnv, os.Getpid(), quote(binary))
	// A process forked while the script is open for writing would keep it open
	// for a moment, and running it would fail with "text file busy".
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, []byte(script), 0o755)
}

// quote makes one word of a shell command of s.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
