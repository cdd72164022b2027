// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// ErrHeld says that another holder has the lock.
var ErrHeld = errors.New("lock is held")

// poll is how often Acquire looks again. A flock that blocks could not be
// given up when the context ends.
const poll = 100 * time.Millisecond

// Lock is a lock that is held. The caller must Release it.
type Lock struct{ file *os.File }

// Try takes the lock on path, which is made if missing, or returns an error
// that wraps ErrHeld and does not wait.
func Try(path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w", path, ErrHeld)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	sign(file)
	return &Lock{file}, nil
}

// Acquire takes the lock on path. When it has to wait it calls waiting once,
// with words for the holder, and waits until the lock is free or ctx ends;
// then it returns the cause of that end.
func Acquire(ctx context.Context, path string, waiting func(holder string)) (*Lock, error) {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for told := false; ; told = true {
		lock, err := Try(path)
		if !errors.Is(err, ErrHeld) {
			return lock, err
		}
		if !told {
			waiting(holder(path))
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Release gives the lock back. The file stays: removing it would let two
// holders lock two files of one name.
func (l *Lock) Release() error { return l.file.Close() }

// sign writes into the file who holds the lock: a courtesy, so its failure is no
// failure of the lock.
func sign(file *os.File) {
	words := fmt.Sprintf("process %d since %s\n", os.Getpid(), time.Now().Format(time.TimeOnly))
	_ = file.Truncate(0)
	_, _ = file.WriteAt([]byte(words), 0)
}

func holder(path string) string {
	words, err := os.ReadFile(path)
	if err != nil || len(words) == 0 {
		return "another process"
	}
	return strings.TrimSpace(string(words))
}
