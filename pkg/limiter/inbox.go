// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"sync/atomic"
)

// inbox is where tasks are left, without a lock, while the queue's share of the
// slots has no room: whoever makes room takes them out. It is a stack; who empties
// it turns the order round.
type inbox struct {
	top atomic.Pointer[waiter]
	// submitted counts the tasks that took a place in the queue, if only for a moment;
	// tasks.left counts them out. leftSeen is what that was at least: to read it for
	// each task would cost more than all the rest.
	submitted, leftSeen atomic.Int64
}

// reserve takes a place in the queue, if there is one.
func (b *Bulkhead) reserve() bool {
	for {
		n := b.inbox.submitted.Load()
		if most := int64(b.cfg.Load().queueCapacity); n-b.inbox.leftSeen.Load() >= most {
			left := b.tasks.left.Load()
			b.inbox.leftSeen.Store(left)
			if n-left >= most {
				return false
			}
		}
		if b.inbox.submitted.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// queued is how many tasks wait: in the inbox, in waiting and in line.
func (b *Bulkhead) queued() int { return int(b.inbox.submitted.Load() - b.tasks.left.Load()) }

// offer leaves a task in the inbox, if that is all there is to do. drop looks again
// afterwards: when room was made or admission ended meanwhile, that may have been
// before the task was there.
func (b *Bulkhead) offer(ctx context.Context, q *queued) bool {
	if !b.mayOffer() || ctx.Err() != nil || !b.reserve() {
		return false
	}
	b.drop(&q.waiter)
	return true
}

// drop leaves a task that has a place in the queue, and looks whether it may stay.
func (b *Bulkhead) drop(w *waiter) {
	top := &b.inbox.top
	for w.next = top.Load(); !top.CompareAndSwap(w.next, w); w.next = top.Load() {
	}
	if b.mayOffer() {
		return
	}
	b.mu.Lock()
	defer b.unlock()
	b.pump()
	if b.ended != nil {
		b.dismissTasks(b.ended)
	}
}

func (b *Bulkhead) mayOffer() bool { return b.noRoom.Load() && b.gate.Load()&guarded == 0 }

// unbox moves the tasks of the inbox to the end of those that wait. b.mu is held.
func (b *Bulkhead) unbox() {
	if b.inbox.top.Load() == nil {
		return
	}
	last := b.tasks.waiting.last
	for w := b.inbox.top.Swap(nil); w != nil; {
		earlier := w.next
		b.tasks.waiting.insertAfter(last, w)
		w = earlier
	}
}

// watch takes a task out of the queue when its submitter's context ends. It begins
// when the task is queued, without the lock, and ends when the task leaves the
// queue; whichever comes second stops it.
type watch struct{ stop atomic.Pointer[func() bool] }

// notWatched is what a watch holds once it has ended.
var notWatched = new(func() bool)

func (w *watch) begin(ctx context.Context, q *queued) {
	if w.stop.Load() == notWatched || ctx.Done() == nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { q.abandon(whyGone(ctx)) })
	if !w.stop.CompareAndSwap(nil, &stop) {
		stop()
	}
}

// end calls a custom context's code: b.mu is not held.
func (w *watch) end() {
	if stop := w.stop.Swap(notWatched); stop != nil && stop != notWatched {
		(*stop)()
	}
}
