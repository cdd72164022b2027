// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"container/list"
	"context"
	"errors"
	"time"
)

// line is where calls wait for a slot, first come, first served. Whenever b.mu
// is free, a line that is not empty means that nothing can be admitted: whoever
// makes room serves the line before unlocking.
type line struct{ waiters list.List }

// waiter is one waiting call. Its fate is decided under b.mu, once: taken off the
// line by serve or dismiss (decided is closed), or by itself in leave.
type waiter struct {
	joined  time.Duration
	task    *queued // the task that waits; nil for a caller that does
	decided chan struct{}
	permit  Permit
	err     error
	place   *list.Element
}

// join puts a new waiter at the end of the line. It joins first and looks after:
// a slot that is freed before the flag is seen is found by the look, and one that
// is freed later is handed over. b.mu is held.
func (b *Bulkhead) join() *waiter {
	w := &waiter{joined: b.now(), decided: make(chan struct{})}
	b.joinAs(w)
	return w
}

func (b *Bulkhead) joinAs(w *waiter) {
	w.place = b.line.waiters.PushBack(w)
	if w.task != nil {
		w.task.place, w.task.waiter = w.place, w
	}
	if b.line.waiters.Len() == 1 {
		b.gate.Or(waiting)
		b.serve()
	}
}

// serve admits waiting calls for as long as there is room. b.mu is held.
func (b *Bulkhead) serve() {
	for front := b.line.waiters.Front(); front != nil; front = b.line.waiters.Front() {
		permit, err := b.admit()
		if errors.Is(err, ErrSaturated) {
			return
		}
		b.decide(front, permit, err)
	}
}

// dismiss lets every waiting call go with an error. b.mu is held.
func (b *Bulkhead) dismiss(err error) {
	for front := b.line.waiters.Front(); front != nil; front = b.line.waiters.Front() {
		b.decide(front, Permit{}, err)
	}
}

func (b *Bulkhead) decide(place *list.Element, permit Permit, err error) {
	w := b.remove(place)
	w.permit, w.err, w.place = permit, err, nil
	if w.task != nil {
		w.task.decided(permit, err)
		return
	}
	if permit.slot != nil {
		b.undone++ // until the call takes it: counts never go back
	}
	close(w.decided)
}

func (b *Bulkhead) remove(place *list.Element) *waiter {
	w := b.line.waiters.Remove(place).(*waiter) //nolint:errcheck // the line holds waiters alone
	if b.line.waiters.Len() == 0 {
		b.gate.lift(waiting)
	}
	return w
}

// wait blocks until the waiter's fate is decided, its budget is spent or its
// context ends.
func (b *Bulkhead) wait(ctx context.Context, w *waiter, budget time.Duration) (Permit, error) {
	timer := time.NewTimer(budget)
	defer timer.Stop()
	select {
	case <-w.decided:
	case <-ctx.Done():
	case <-timer.C:
	}
	b.mu.Lock()
	defer b.unlock()
	return b.leave(ctx, w)
}

// leave settles a waiter that woke up. On a tie the context wins; a slot granted
// to a call that is gone is passed on; a grant wins over the budget. b.mu is held.
func (b *Bulkhead) leave(ctx context.Context, w *waiter) (Permit, error) {
	waited := b.now() - w.joined
	if w.permit.slot != nil {
		b.undone--
	}
	b.counts.Waited++
	b.counts.WaitTime += waited
	tell(b, b.cfg.Load().hooks.Waited, waited)
	if w.place != nil {
		b.remove(w.place)
	}
	if err := contextError(ctx); err != nil {
		if w.permit.slot != nil {
			b.giveBack(w.permit)
		}
		return Permit{}, b.cancelled(ctx, err, waited)
	}
	switch {
	case w.err != nil:
		return Permit{}, b.reject(w.err, waited)
	case w.permit.slot != nil:
		return b.admitted(w.permit), nil
	default:
		return Permit{}, b.reject(ErrSaturated, waited)
	}
}

// contextError is ctx.Err(), and context.DeadlineExceeded as well when the
// deadline has passed but the context's own timer has yet to run: a deadline that
// ties with the wait budget wins.
func contextError(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}
