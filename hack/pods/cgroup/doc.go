// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cgroup finds the machine's cgroup hierarchies, of version 1 or 2, and
// makes and removes one cgroup in all of them:
//
//	tree, err := cgroup.Find()
//	if err != nil {
//		return err
//	}
//	err = tree.Make("node")
//	defer tree.Remove("node", time.Second)
//
// It sets no limits, and puts no process anywhere: kubelet and runc do.
package cgroup
