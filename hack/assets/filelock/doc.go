// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package filelock lets processes take turns at something, with flock(2): the
// lock goes when its holder ends, however it ends.
//
//	lock, err := filelock.Acquire(ctx, path, func(holder string) { log.Print("waiting for ", holder) })
//	if err != nil {
//		return err
//	}
//	defer lock.Release()
//
// It does not lock across machines, and is not meant for Windows.
package filelock
