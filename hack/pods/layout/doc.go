// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package layout says where the parts of a node lie: its files below one
// directory, its addresses, and its cgroup.
//
//	node := layout.Layout{Root: "/cache/servicebulkhead/node"}
//	kubeconfig := node.Kubeconfig("admin")
//	url := node.APIServer()
//
// It makes nothing and looks at nothing.
package layout
