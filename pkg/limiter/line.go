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

// waiter is one waiting call. Its fate is decided under b.mu, once: taken off the
// line by serve or dismiss (decided receives), or by itself in leave.
type waiter struct {
	prev, next *waiter
	// in is where it waits; nil when it does not.
	in     *waiters
	joined time.Duration
	task   *queued // the task that waits; nil for a caller that does

	// For callers: when their fate is decided, and what it is.
	decided chan struct{}
	timer   *time.Timer
	permit  Permit
	err     error
}

func (l *waiters) pushBack(w *waiter)  { l.insert(w, l.last, nil) }
func (l *waiters) pushFront(w *waiter) { l.insert(w, nil, l.first) }

func (l *waiters) insert(w, prev, next *waiter) {
	w.prev, w.next, w.in = prev, next, l
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
	if prev == nil {
		l.first = next
	} else {
		prev.next = next
	}
	if next == nil {
		l.last = prev
	} else {
		next.prev = prev
	}
}

// spares are waiters that callers have left, with their channels and timers. They
// belong to one bulkhead, and so to the bubble of testing/synctest it was made in.
type spares struct{ pool sync.Pool }

func (s *spares) get() *waiter {
	if w, ok := s.pool.Get().(*waiter); ok {
		return w
	}
	w := &waiter{decided: make(chan struct{}, 1), timer: time.NewTimer(Forever)}
	w.timer.Stop()
	return w
}

// put takes back a waiter that nobody else knows any more.
func (s *spares) put(w *waiter) {
	w.timer.Stop()
	select {
	case <-w.decided:
	default:
	}
	w.permit, w.err = Permit{}, nil
	s.pool.Put(w)
}

// join puts a new waiter at the end of the line. It joins first and looks after:
// a slot that is freed before the flag is seen is found by the look, and one that
// is freed later is handed over. b.mu is held.
func (b *Bulkhead) join() *waiter {
	w := b.spares.get()
	w.joined = b.now()
	b.joinAs(w)
	return w
}

func (b *Bulkhead) joinAs(w *waiter) {
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
		b.decide(b.line.first, permit, err)
	}
}

// dismiss lets every waiting call go with an error. b.mu is held.
func (b *Bulkhead) dismiss(err error) {
	for b.line.first != nil {
		b.decide(b.line.first, Permit{}, err)
	}
}

func (b *Bulkhead) decide(w *waiter, permit Permit, err error) {
	b.stepOut(w)
	if w.task != nil {
		b.tasks.inLine--
		w.task.decided(permit, err)
		return
	}
	w.permit, w.err = permit, err
	if permit.slot != nil {
		b.undone++ // until the call takes it: counts never go back
	}
	w.decided <- struct{}{}
}

// stepOut takes a waiter off the line. b.mu is held.
func (b *Bulkhead) stepOut(w *waiter) {
	b.line.remove(w)
	if b.line.len == 0 {
		b.gate.lift(waiting)
	}
}

// wait blocks until the waiter's fate is decided, its budget is spent or its
// context ends.
func (b *Bulkhead) wait(ctx context.Context, w *waiter, budget time.Duration) (Permit, error) {
	w.timer.Reset(budget)
	select {
	case <-w.decided:
	case <-ctx.Done():
	case <-w.timer.C:
	}
	b.mu.Lock()
	defer b.unlock()
	defer b.spares.put(w)
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
	if w.in != nil {
		b.stepOut(w)
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
