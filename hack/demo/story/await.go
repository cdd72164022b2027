// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package story

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pollInterval is how often a condition is looked at.
const pollInterval = 10 * time.Millisecond

// Await waits until a condition holds, looking every few milliseconds. The error
// names what was waited for, and why the last look was in vain.
func Await(ctx context.Context, timeout time.Duration, what string, holds func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not within %s", timeout))
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var last error
	for {
		yes, err := holds(ctx)
		if yes && err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s: %w", what, context.Cause(ctx)), last)
		}
	}
}
