// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package words has what the demo's programs say of themselves, as JSON: what the
// shop and the load generator write into their termination messages, and the pages
// on which they, payments and the shop's agent answer. Who writes them and who reads
// them, the demos and the end-to-end tests, share these types.
package words
