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
// release the permit. It never overtakes a call that waits. It may refuse while a
// release is under way; with none, a free slot is always found.
func (b *Bulkhead) TryAcquire() (Permit, bool) {
	if b == nil {
		return Permit{}, true
	}
	if p, ok := b.take(); ok {
		return p, true
	}
	if b.gate.Load()&flags == full {
		b.refuse(b.cfg.Load())
		return Permit{}, false
	}
	b.mu.Lock()
	defer b.unlock()
	p, err := b.enter()
	if err != nil {
		b.count(err)
		if b.cfg.Load().hooks.Rejected != nil {
			tell(b, b.cfg.Load().hooks.Rejected, b.describe(err, 0))
		}
		return Permit{}, false
	}
	return b.admitted(p), true
}

// Acquire admits a call, waiting for a slot for at most the wait budget. The
// caller must release the permit.
//
// It returns a *SaturatedError when the budget is spent, ErrRefused, ErrDraining
// or ErrClosed (also to calls that already wait), and a *CancelledError when the
// context ends first (a nil bulkhead: the context's error). A context that is already done never takes a slot; on a tie
// the context wins.
func (b *Bulkhead) Acquire(ctx context.Context) (Permit, error) {
	if b == nil {
		return Permit{}, ctx.Err()
	}
	if ctx.Err() != nil {
		gone := whyGone(ctx)
		b.mu.Lock()
		defer b.unlock()
		return Permit{}, b.cancelled(gone, 0)
	}
	if p, ok := b.take(); ok {
		return p, nil
	}
	if cfg := b.cfg.Load(); cfg.maxWait == 0 && b.gate.Load()&flags == full {
		b.refuse(cfg)
		return Permit{}, &SaturatedError{Service: b.name, Limit: cfg.limit, InFlight: cfg.limit}
	}
	return b.acquireSlowly(ctx)
}

// refuse counts a refusal that needs no lock: every slot is held, and is known to
// be.
func (b *Bulkhead) refuse(cfg *config) {
	b.stripe().refused.Add(1)
	if hook := cfg.hooks.Rejected; hook != nil {
		hook(b.name, &SaturatedError{Service: b.name, Limit: cfg.limit, InFlight: cfg.limit})
	}
}

// take is the path without a lock: a slot, if the gate has no flags and a scan
// finds one that may be kept.
func (b *Bulkhead) take() (Permit, bool) {
	gate := b.gate.Load()
	if gate&flags != 0 {
		return Permit{}, false
	}
	return b.takeAs(gate, b.cfg.Load())
}

// takeAs scans as the configuration says, and keeps the slot if the gate is still
// as it was before.
func (b *Bulkhead) takeAs(before uint64, cfg *config) (Permit, bool) {
	p, ok := b.scan(cfg, b.scanFrom(b.stripe().hint.Load()))
	if ok && changed(before, b.gate.Load()) {
		b.mu.Lock()
		defer b.unlock()
		b.giveBack(p)
		return Permit{}, false
	}
	return p, ok
}

func (b *Bulkhead) acquireSlowly(ctx context.Context) (Permit, error) {
	b.mu.Lock()
	budget := b.cfg.Load().maxWait
	p, err := b.enter()
	if errors.Is(err, ErrSaturated) && budget > 0 {
		c := b.join()
		b.unlock()
		return b.wait(ctx, c, budget)
	}
	defer b.unlock()
	if err != nil {
		return Permit{}, b.reject(err, 0)
	}
	return b.admitted(p), nil
}

// Do runs fn as one call: it acquires as Acquire does, and releases when fn
// returns, panics or calls runtime.Goexit. fn's context ends when the call's slot
// lapses, unless the bulkhead's OnReclaim is Release or its mode Shadow; an error that fn then
// returns is wrapped, so that errors.Is(err, ErrReclaimed) holds. Otherwise fn's
// error is returned as it is; nil is nil, also late.
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
	call := permit.begin(ctx)
	defer call.end()
	value, err := fn(&call.callContext)
	return value, b.explain(call, err)
}

// explain names why the call's context was ended, when that was our doing.
func (b *Bulkhead) explain(call *details, err error) error {
	if b == nil || err == nil {
		return err
	}
	c := call.cause()
	ours := errors.Is(c, ErrReclaimed) || errors.Is(c, ErrDraining)
	if !ours || context.Cause(call.parent) == c || errors.Is(err, c) { //nolint:errorlint // the cause itself
		return err
	}
	return fmt.Errorf("bulkhead %q: %w: %w", b.name, c, err)
}

// enter decides about a call that just came and has found nothing by itself.
// b.mu is held.
func (b *Bulkhead) enter() (Permit, error) {
	if b.line.len > 0 {
		return Permit{}, ErrSaturated // whoever makes room serves the line: there is none
	}
	p, err := b.admit()
	if errors.Is(err, ErrSaturated) {
		return b.lookAgain(b.admit)
	}
	return p, err
}

// lookAgain sets a flag after a scan found nothing, and looks again: a slot that
// was freed before the flag was set is found by this look; one that is freed later
// clears the flag. b.mu is held.
func (b *Bulkhead) lookAgain(look func() (Permit, error)) (Permit, error) {
	b.gate.Or(looking)
	p, err := look()
	if err == nil {
		b.gate.lift(looking)
	}
	b.gate.confirm()
	return p, err
}

// admit starts a call if the mode and the limit allow one more, and else says why
// not with a bare sentinel. b.mu is held.
func (b *Bulkhead) admit() (Permit, error) {
	mode := b.cfg.Load().mode
	switch {
	case b.ended != nil:
		return Permit{}, b.ended
	case mode == Refuse:
		return Permit{}, ErrRefused
	case mode == PassThrough:
		return b.extras.start(b), nil
	}
	if p, ok := b.takeSlot(); ok {
		return p, nil
	}
	if mode == Shadow {
		return b.extras.start(b), nil
	}
	return Permit{}, ErrSaturated
}

// admitted notes what a permit that is handed out now says of Shadow. b.mu is
// held.
func (b *Bulkhead) admitted(p Permit) Permit {
	if p.slot.index == noIndex && b.cfg.Load().mode == Shadow {
		b.counts.Shadowed++
	}
	return p
}

// reject counts a refusal and gives it its details. b.mu is held.
func (b *Bulkhead) reject(reason error, waited time.Duration) error {
	b.count(reason)
	err := b.describe(reason, waited)
	tell(b, b.cfg.Load().hooks.Rejected, err)
	return err
}

func (b *Bulkhead) describe(reason error, waited time.Duration) error {
	if errors.Is(reason, ErrSaturated) {
		below, above := b.held()
		return &SaturatedError{Service: b.name, Limit: b.cfg.Load().limit, InFlight: below + above, Waited: waited}
	}
	return fmt.Errorf("bulkhead %q: %w", b.name, reason)
}

// cancelled counts a call that went away. b.mu is held.
func (b *Bulkhead) cancelled(why *CancelledError, waited time.Duration) error {
	b.counts.Cancelled++
	why.Service, why.Waited = b.name, waited
	return why
}
