// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package parts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockPoll is how often a lock is tried: an flock that blocks could not be given
// up when the context ends.
const lockPoll = 100 * time.Millisecond

// store keeps what was fetched and built, one directory each, below dir.
type store struct {
	dir string
	out io.Writer
}

// get returns the directory named key. If it is not there, it is made and filled by
// fill, of all processes that ask for it by one; it appears complete or not at all.
func (s store) get(ctx context.Context, key string, fill func(dir string) error) (string, error) {
	dir := filepath.Join(s.dir, key)
	unlock, err := s.lock(ctx, key)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil { // what an interrupted run has left
		return "", fmt.Errorf("cache: %w", err)
	}
	if err := os.MkdirAll(partial, 0o755); err != nil {
		return "", fmt.Errorf("cache: %w", err)
	}
	if err := fill(partial); err != nil {
		return "", errors.Join(err, os.RemoveAll(partial))
	}
	return dir, os.Rename(partial, dir)
}

// lock waits for its turn at key. The lock goes with this process, however it ends.
func (s store) lock(ctx context.Context, key string) (unlock func(), err error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(s.dir, key+".lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	for told := false; ; told = true {
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			return func() { _ = file.Close() }, nil
		}
		if !told {
			_, _ = fmt.Fprintf(s.out, "waiting for %s: another process is making it\n", key)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), file.Close())
		}
	}
}
