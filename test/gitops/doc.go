// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitops tests what docs/gitops.md promises to those who keep their
// bulkheads in Git: applying twice changes nothing, nobody fights over a field, a
// rename converges, and kstatus, which Flux reads, and the health script for Argo
// CD say of every state what it is.
//
//	KUBEBUILDER_ASSETS=$(go run ./hack/cluster assets) go test ./test/gitops
//	go test ./test/gitops -run Health    # without a control plane
//
// The operator is the real one, with the rights of its ServiceAccount, against a
// real API server; kstatus is the real library, and the script runs in the
// interpreter that Argo CD runs it in. Neither Flux nor Argo CD runs here: of them
// the page says what their own documentation says.
package gitops
