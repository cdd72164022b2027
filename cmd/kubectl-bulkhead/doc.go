// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-bulkhead is a kubectl plugin that checks ServiceBulkheads
// without a cluster.
//
//	kubectl bulkhead validate -f manifests/
//	kustomize build . | kubectl bulkhead validate -f -
//
// It exits with 0 when nothing is wrong, with 1 when an object is, and with 2 when
// it could not do its work; docs/reference/validate.md has the details. It decides
// nothing itself: package manifest finds the objects, package judge applies the
// API's rules to them, package cli is the command line. What only a cluster knows
// it cannot check: the object before the change, other people's objects, policies.
package main
