// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command scale measures the operator with many bulkheads, on a local control plane:
// the real binary, with the rights of its ServiceAccount.
//
//	go run ./hack/scale
//
// It prints figures, among them those that have a bound, and exits with 1 when one
// is not as it must be. The machine is shared between the operator, the API
// server, etcd and this program, so a figure is what one can have at the least. It
// knows nothing of pods: a kubelet's part of the way is not in the figures.
package main
