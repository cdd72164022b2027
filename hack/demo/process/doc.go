// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process runs the demo's programs as child processes, their output in
// files.
//
//	shop, err := process.Start("shop", logs, path, "-listen", "127.0.0.1:0")
//	defer shop.Stop(5 * time.Second)
//	url, err := shop.Await(ctx, "listening on ")
//
// Every process stands in a group of its own, so that Ctrl-C reaches the demo
// alone, which stops the others in order. On Linux a process is killed when the
// demo is. It does not restart what ends.
package process
