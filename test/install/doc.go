// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install tests what config installs, as docs/install.md says: the commands
// of the page do what it promises, the operator's pods meet the restricted Pod
// Security Standard, and tenants can do what they should and nothing else.
//
//	KUBEBUILDER_ASSETS=$(go run ./hack/cluster assets) go test ./test/install
//
// The control plane is real and has no nodes: pods are accepted and stay Pending, and
// a process of cmd/operator with the rights of their ServiceAccount stands in for
// them. The alerts are tested in hack/rules.
package install
