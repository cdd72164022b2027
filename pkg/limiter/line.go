// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"sync"
	"time"
)

// waiters is a list of those that wait, first come, first served. A bulkhead has
// two: the line for a slot, and the tasks that are not in line yet. Whenever b.mu
// is free, a line that is not empty means that nothing can be admitted: whoever
// makes room serves the line before unlocking.
type waiters struct {
	first, last *waiter
	len         int
}

// waiter is the place of a caller or a task in a list. Its fate is decided under
// b.mu, once: taken off the line by serve or dismiss, or by itself.
type waiter struct {
	prev, next *waiter
	// in is where it waits; nil when it does not.
	in     *waiters
	joined time.Duration
	// One of the two waits.
	caller *caller
	task   *queued
}

// caller is who waits in Acquire.
type caller struct {
	waiter
	// decided receives when a permit or an error is there.
	decided chan struct{}
	timer   *time.Timer
	permit  Permit
	err     error
}

func (l *waiters) pushBack(w *waiter)  { l.insertAfter(l.last, w) }
func (l *waiters) pushFront(w *waiter) { l.insertAfter(nil, w) }

// insertAfter inserts w behind prev; nil is the front.
func (l *waiters) insertAfter(prev, w *waiter) {
	next := l.first
	if prev != nil {
		next = prev.next
	}
	w.in = l
	l.link(prev, w)
	l.link(w, next)
	l.len++
}

func (l *waiters) remove(w *waiter) {
	l.link(w.prev, w.next)
	w.prev, w.next, w.in = nil, nil, nil
	l.len--
}

// link makes two waiters neighbours; nil is the end of the list.
func (l *waiters) link(prev, next *waiter) {
	if prev != nil {
		prev.next = next
	} else {
		l.first = next
	}
	if next != nil {
		next.prev = prev
	} else {
		l.last = prev
	}
}

// callers keeps what a caller needs to wait, a channel and a timer, for the next.
// It belongs to one bulkhead, and so to the bubble of testing/synctest that the
// bulkhead was made in.
type callers struct{ spare sync.Pool }

func (s *callers) get() *caller {
	if c, ok := s.spare.Get().(*caller); ok {
		return c
	}
	c := &caller{decided: make(chan struct{}, 1), timer: time.NewTimer(Forever)}
	c.timer.Stop()
	c.caller = c
	return c
}

// put takes back what nobody else knows any more. (Since Go 1.23 a stopped timer
// has no tick left to deliver; with GODEBUG=asynctimerchan=1 it may.)
func (s *callers) put(c *caller) {
	c.timer.Stop()
	select {
	case <-c.timer.C:
	default:
	}
	select {
	case <-c.decided:
	default:
	}
	c.permit, c.err = Permit{}, nil
	s.spare.Put(c)
}

// join puts a caller at the end of the line. b.mu is held.
func (b *Bulkhead) join() *caller {
	c := b.callers.get()
	c.joined = b.now()
	b.enqueue(&c.waiter)
	return c
}

// enqueue puts a waiter at the end of the line. It joins first and looks after: a
// slot that is freed before the flag is seen is found by the look, and one that is
// freed later is handed over. b.mu is held.
func (b *Bulkhead) enqueue(w *waiter) {
	b.line.pushBack(w)
	if b.line.len == 1 {
		b.gate.Or(waiting)
		b.serve()
	}
}

// serve admits waiting calls for as long as there is room. b.mu is held.
func (b *Bulkhead) serve() {
	for b.line.first != nil {
		permit, err := b.admit()
		if errors.Is(err, ErrSaturated) {
			return
		}
		b.stepOut(b.line.first).decide(b, permit, err)
	}
}

// dismiss lets every waiting call go with an error. b.mu is held.
func (b *Bulkhead) dismiss(err error) {
	for b.line.first != nil {
		b.stepOut(b.line.first).decide(b, Permit{}, err)
	}
}

// stepOut takes a waiter off the line. b.mu is held.
func (b *Bulkhead) stepOut(w *waiter) *waiter {
	b.line.remove(w)
	if b.line.len == 0 {
		b.gate.lift(waiting)
	}
	if w.task != nil {
		b.tasks.inLine--
	}
	return w
}

// decide tells a waiter that has left the line what comes of its wait. b.mu is held.
func (w *waiter) decide(b *Bulkhead, permit Permit, err error) {
	if w.task != nil {
		w.task.decided(permit, err)
		return
	}
	c := w.caller
	c.permit, c.err = permit, err
	if permit.slot != nil {
		b.undone++ // until the call takes it: counts never go back
	}
	c.decided <- struct{}{}
}

// wait blocks until the waiter's fate is decided, its budget is spent or its
// context ends.
func (b *Bulkhead) wait(ctx context.Context, c *caller, budget time.Duration) (Permit, error) {
	c.timer.Reset(budget)
	select {
	case <-c.decided:
	case <-ctx.Done():
	case <-c.timer.C:
	}
	gone := whyGone(ctx)
	b.mu.Lock()
	defer b.unlock()
	defer b.callers.put(c)
	return b.leave(gone, c)
}

// leave settles a caller that woke up. On a tie the context wins; a slot granted
// to a call that is gone is passed on; a grant wins over the budget. b.mu is held.
func (b *Bulkhead) leave(gone *CancelledError, c *caller) (Permit, error) {
	waited := b.now() - c.joined
	if c.permit.slot != nil {
		b.undone--
	}
	b.counts.Waited++
	b.counts.WaitTime += waited
	tell(b, b.cfg.Load().hooks.Waited, waited)
	if c.in != nil {
		b.stepOut(&c.waiter)
	}
	if gone != nil {
		if c.permit.slot != nil {
			b.giveBack(c.permit)
		}
		return Permit{}, b.cancelled(gone, waited)
	}
	switch {
	case c.err != nil:
		return Permit{}, b.reject(c.err, waited)
	case c.permit.slot != nil:
		return b.admitted(c.permit), nil
	default:
		return Permit{}, b.reject(ErrSaturated, waited)
	}
}

// whyGone says why a context has ended; nil if it has not. A deadline that has
// passed counts also when the context's own timer has yet to run: one that ties
// with the wait budget wins. The context's code is the caller's: b.mu is not held.
func whyGone(ctx context.Context) *CancelledError {
	err := ctx.Err()
	if err == nil {
		if deadline, ok := ctx.Deadline(); !ok || time.Now().Before(deadline) {
			return nil
		}
		err = context.DeadlineExceeded
	}
	cause := context.Cause(ctx)
	if cause == nil {
		cause = err
	}
	return &CancelledError{Err: err, Cause: cause}
}
