// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Images makes container images of the programs that run in pods: the operator, the
// demo's shop and payments, and the load generator.
//
//	images build                          # dist/images/operator.tar, shop.tar, payments.tar, load.tar
//	images build -tag next operator       # this one alone, as servicebulkhead-operator:next
//	images push -registry registry.example/team
//
// An image is one layer with one static binary, and runs it as a user of its own.
// The same sources, Go version, platform and labels make the same image, byte for
// byte, wherever the repository lies. Archives are what docker load and
// ctr images import read; no daemon is needed to make them.
//
// It makes images for one platform at a time, and neither signs them nor describes
// what is in them.
package main
