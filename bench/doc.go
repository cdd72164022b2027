// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bench measures the limiter beside its peers: golang.org/x/sync's
// semaphore, a buffered channel, failsafe-go's and go-resiliency's bulkheads.
//
// It is a module of its own, so that no peer reaches an importer's go.sum.
// `make bench` runs every row in ten interleaved rounds and prints one table of
// ratios, each with its range and what it must and should be (see report). A
// figure says something only beside its peers from the same run.
//
// The tests beside the benchmarks show how saturation passes by circuit breakers
// and retry policies.
package bench
