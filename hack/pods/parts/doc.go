// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package parts gets hold of the programs that a node consists of, and keeps
// them in the user's cache directory:
//
//	programs, err := parts.Ensure(ctx, os.Stderr)
//	if err != nil {
//		return err
//	}
//	err = programs.Link(node.Bin())
//
// Kubernetes and etcd are the build of hack/kubernetes. containerd, runc and nft
// are those in PATH, if all are there, else Debian's packages, downloaded and
// unpacked without being installed: nothing of the system's changes. CNI plugins
// and the pause image are built from this module.
//
// Processes that want the same thing wait for the one that makes it. Old versions
// are not cleared away.
package parts
