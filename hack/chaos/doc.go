// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command chaos breaks things under the operator while bulkheads change, on a local
// control plane: it kills operators, the API server and etcd, stalls the API server,
// and edits ConfigMaps by hand.
//
//	go run ./hack/chaos -seed 7
//
// After each fault the changes stop and everything must converge to the bytes that a
// new operator would write; meanwhile no version of a document may hold an entry that
// nobody declared, or lack one that was to stay. It prints figures and exits with 1
// when something is not as it must be. The seed repeats the choices; the moments at
// which they meet each other are the machine's.
package main
