// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bench measures the limiter beside its peers: golang.org/x/sync's
// semaphore, a buffered channel, failsafe-go's and go-resiliency's bulkheads.
//
// It is a module of its own, so that no peer reaches an importer's go.sum.
// `make bench` runs every row several times, interleaved, and prints medians and
// ratios to x/sync in one table. A figure says something only beside its peers
// from the same run.
package bench
