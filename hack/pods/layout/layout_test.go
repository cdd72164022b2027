// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"strings"
	"testing"
)

func TestNodesSideBySideShareNothing(t *testing.T) {
	one, other := Layout{"/cache/node"}, Layout{"/cache/other"}
	if one.Cgroup() == other.Cgroup() || one.LockFile() == other.LockFile() {
		t.Errorf("cgroups %s, %s; locks %s, %s", one.Cgroup(), other.Cgroup(), one.LockFile(), other.LockFile())
	}
	if same := (Layout{"/cache/node/"}); same.Cgroup() != one.Cgroup() || same.LockFile() != one.LockFile() {
		t.Errorf("one directory, written in two ways: %s and %s", same.Cgroup(), same.LockFile())
	}
}

func TestTheLockOutlivesTheDirectory(t *testing.T) {
	node := Layout{"/cache/node"}
	if strings.HasPrefix(node.LockFile(), node.Root+"/") {
		t.Errorf("%s goes with the directory", node.LockFile())
	}
	if !strings.HasPrefix(node.PIDFile(), node.Root+"/") {
		t.Errorf("%s stays when the directory goes", node.PIDFile())
	}
}
