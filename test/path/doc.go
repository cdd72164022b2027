// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package path tests the whole way from kubectl to a running limiter, with
// nothing in place of anything: a real API server, the operator with the rights of
// its ServiceAccount, the kubelet's own writer of volumes, and the agent.
package path
