// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load keeps a fixed number of clients busy with one URL.
//
//	l := load.New(shopURL+"/buy", 60, 100*time.Millisecond)
//	l.Start()
//	defer l.Stop()
//	window := l.Take() // what happened since the last Take
//
// It is a closed loop, as people at a counter are: a client sends its next request
// only after the last was answered and it has thought for a while. So there are
// never more requests under way than clients, and a slow answer means fewer
// questions. For measuring latencies under a given rate it is the wrong tool; the
// command generator, which shares Ask and the counts with it, sends at a rate.
package load
