// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// TryAcquire admits a call if that is possible without waiting. The caller must
// release the permit. It never overtakes a call that waits.
func (b *Bulkhead) TryAcquire() (Permit, bool) {
	if b == nil {
		return Permit{}, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	permit, err := b.enter(b.now())
	if err != nil {
		b.count(err)
		return Permit{}, false
	}
	return b.admitted(permit), true
}

// Acquire admits a call, waiting for a slot for at most the wait budget. The
// caller must release the permit.
//
// It returns a *SaturatedError when the budget is spent, ErrRefused, ErrDraining
// or ErrClosed (also to calls that already wait), and a *CancelledError when the
// context ends first. A context that is already done never takes a slot; on a tie
// the context wins.
func (b *Bulkhead) Acquire(ctx context.Context) (Permit, error) {
	if b == nil {
		return Permit{}, ctx.Err()
	}
	b.mu.Lock()
	if err := contextError(ctx); err != nil {
		defer b.mu.Unlock()
		return Permit{}, b.cancelled(ctx, err, 0)
	}
	now := b.now()
	permit, err := b.enter(now)
	if budget := b.cfg.maxWait; err == ErrSaturated && budget > 0 { //nolint:errorlint // enter returns the bare sentinel
		w := b.join(now)
		b.mu.Unlock()
		return b.wait(ctx, w, budget)
	}
	defer b.mu.Unlock()
	if err != nil {
		return Permit{}, b.reject(err, 0)
	}
	return b.admitted(permit), nil
}

// Do runs fn as one call: it acquires as Acquire does, and releases when fn
// returns, panics or calls runtime.Goexit. fn's context ends when the call's slot
// lapses, unless the bulkhead's OnReclaim is Release; an error that fn then
// returns is wrapped, so that errors.Is(err, ErrReclaimed) holds. Otherwise fn's
// error is returned as it is.
func (b *Bulkhead) Do(ctx context.Context, fn func(context.Context) error) error {
	_, err := Call(ctx, b, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
	return err
}

// Call is Do for a function that returns a value. With a nil bulkhead it just
// calls fn.
func Call[T any](ctx context.Context, b *Bulkhead, fn func(context.Context) (T, error)) (T, error) {
	if b == nil {
		return fn(ctx)
	}
	permit, err := b.Acquire(ctx)
	if err != nil {
		var none T
		return none, err
	}
	defer permit.Release()
	callCtx, cancel := permit.context(ctx)
	defer cancel(nil)
	value, err := fn(callCtx)
	return value, explain(err, callCtx)
}

// explain names why the call's context was ended, when that was our doing.
func explain(err error, ctx context.Context) error {
	c := context.Cause(ctx)
	ours := errors.Is(c, ErrReclaimed) || errors.Is(c, ErrDraining)
	if err == nil || !ours || errors.Is(err, c) {
		return err
	}
	return fmt.Errorf("%w: %w", c, err)
}

// enter decides about a call that just came. b.mu is held.
func (b *Bulkhead) enter(now time.Duration) (Permit, error) {
	permit, err := b.admit(now)
	if err == ErrSaturated { //nolint:errorlint // admit returns the bare sentinel
		// The timer may be late: look before refusing. What has lapsed goes to the
		// line first.
		b.sweep(now)
		permit, err = b.admit(now)
	}
	return permit, err
}

// admit starts a call if the mode and the limit allow one more, and else says why
// not with a bare sentinel. b.mu is held.
func (b *Bulkhead) admit(now time.Duration) (Permit, error) {
	switch {
	case b.ended != nil:
		return Permit{}, b.ended
	case b.cfg.mode == Refuse:
		return Permit{}, ErrRefused
	case b.cfg.mode == PassThrough:
		return b.start(&b.beyond, now), nil
	case b.held.len < b.cfg.limit:
		return b.start(&b.held, now), nil
	case b.cfg.mode == Shadow:
		return b.start(&b.beyond, now), nil
	default:
		return Permit{}, ErrSaturated
	}
}

// reject counts a refusal and gives it its details. b.mu is held.
func (b *Bulkhead) reject(reason error, waited time.Duration) error {
	b.count(reason)
	if reason == ErrSaturated { //nolint:errorlint // reasons are bare sentinels
		return &SaturatedError{Service: b.name, Limit: b.cfg.limit, InFlight: b.held.len, Waited: waited}
	}
	return fmt.Errorf("bulkhead %q: %w", b.name, reason)
}

// admitted counts a call whose permit is handed out now. b.mu is held.
func (b *Bulkhead) admitted(p Permit) Permit {
	b.counts.Admitted++
	if b.cfg.mode == Shadow && p.call.ticket == p.ticket && p.call.in == &b.beyond {
		b.counts.Shadowed++
	}
	return p
}

// cancelled counts a call that went away and says why. b.mu is held.
func (b *Bulkhead) cancelled(ctx context.Context, err error, waited time.Duration) error {
	b.counts.Cancelled++
	cause := context.Cause(ctx)
	if cause == nil { // the deadline has passed, the context has yet to notice
		cause = err
	}
	return &CancelledError{Service: b.name, Waited: waited, Err: err, Cause: cause}
}
