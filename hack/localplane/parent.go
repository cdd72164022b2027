// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"context"
	"errors"
	"os"
	"time"
)

// ErrOrphaned is the cause of the end of a context of WithParent whose parent
// process is gone.
var ErrOrphaned = errors.New("the parent process is gone")

// parentPoll is how often the parent is looked for.
const parentPoll = 500 * time.Millisecond

// WithParent returns a copy of ctx that also ends when the process that started
// this one goes away. `go run` does not hand on a SIGTERM, so a program that it
// runs would never hear that it is to end. The caller must call the cancel
// function.
func WithParent(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	parent := os.Getppid()
	go func() {
		ticker := time.NewTicker(parentPoll)
		defer ticker.Stop()
		for os.Getppid() == parent {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
		cancel(ErrOrphaned)
	}()
	return ctx, func() { cancel(nil) }
}
