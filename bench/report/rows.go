// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// row is one line of the table: a figure of ours divided by a peer's, or by
// another of ours, and the most that the ratio must and should be.
type row struct {
	work, against string
	ours, peer    string
	must, aim     float64
	// noAllocs says that ours must not allocate.
	noAllocs bool
}

// nanoseconds as a peer makes the ratio an absolute time.
const nanoseconds = "1 ns"

var rows = []row{
	{
		"try + release, free slots, 1 goroutine", "x/sync semaphore",
		"TryRelease/goroutines=1/impl=servicebulkhead", "TryRelease/goroutines=1/impl=x-sync", 1.0, 0.8, true,
	},
	{
		"the same, 8 goroutines", "x/sync semaphore",
		"TryRelease/goroutines=8/impl=servicebulkhead", "TryRelease/goroutines=8/impl=x-sync", 0.5, 0.15, true,
	},
	{
		"the same, 8 goroutines", "failsafe-go bulkhead",
		"TryRelease/goroutines=8/impl=servicebulkhead", "TryRelease/goroutines=8/impl=failsafe-go", 1.0, 0, false,
	},
	{
		"one free slot of 1,024", "x/sync semaphore",
		"OneFree/limit=1024/impl=servicebulkhead", "OneFree/limit=1024/impl=x-sync", 10, 0, false,
	},
	{
		"one free slot of 16,384, in ns", "the clock",
		"OneFree/limit=16384/impl=servicebulkhead", nanoseconds, 1000, 0, false,
	},
	{
		"one free slot of 16,384", "ours of 8",
		"OneFree/limit=16384/impl=servicebulkhead", "OneFree/limit=8/impl=servicebulkhead", 100, 3, false,
	},
	{
		"refusing, limit 16,384", "ours at limit 8",
		"Refuse/limit=16384/impl=servicebulkhead", "Refuse/limit=8/impl=servicebulkhead", 1.5, 0, false,
	},
	{
		"refusing, limit 8", "x/sync semaphore",
		"Refuse/limit=8/impl=servicebulkhead", "Refuse/limit=8/impl=x-sync", 4, 1.5, true,
	},
	{
		"release → waiter runs, bounded wait", "x/sync semaphore",
		"HandOver/impl=servicebulkhead", "HandOver/impl=x-sync", 1.5, 1.0, false,
	},
	{
		"reducer, 8 active, queue 1,000", "pool of 8 workers",
		"Reducer/impl=servicebulkhead", "Reducer/impl=pool", 1.0, 0.83, false,
	},
	{
		"HTTP round trip, onReclaim Cancel", "a bare transport",
		"Transport/over=loopback/impl=cancel", "Transport/over=loopback/impl=bare", 0, 0, false,
	},
	{
		"HTTP round trip, onReclaim Release", "a bare transport",
		"Transport/over=loopback/impl=release", "Transport/over=loopback/impl=bare", 0, 0, false,
	},
	{
		"HTTP over nothing, Cancel, in ns", "the clock",
		"Transport/over=nothing/impl=cancel", nanoseconds, 0, 0, false,
	},
	{
		"HTTP over nothing, bare, in ns", "the clock",
		"Transport/over=nothing/impl=bare", nanoseconds, 0, 0, false,
	},
}
