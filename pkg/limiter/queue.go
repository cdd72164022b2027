// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"container/list"
	"context"
	"runtime/debug"
	"time"
)

// tasks are a bulkhead's queue. A task waits first in a list of its own, which
// blocks nobody, and joins the line when the queue's share of the slots has room.
type tasks struct {
	waiting list.List // of *queued that are not in line yet
	inLine  int
	// active tasks run; holding is how many of them hold a slot that has not lapsed.
	active, holding int
	// relay is set while a goroutine that finished a task asks for the next; the
	// first task to start then is left in next for it.
	relay bool
	next  *queued
}

func (t *tasks) queued() int { return t.waiting.Len() + t.inLine }

// queued is a task on its way: waiting, in line, running or settled.
type queued struct {
	bulkhead *Bulkhead
	ctx      context.Context
	run      func(context.Context) error
	settle   func(error)

	joined time.Duration
	// place is where it waits; waiter is set while that is the line.
	place  *list.Element
	waiter *waiter
	// call is what runs; nil before and after.
	call *details
	// cancel ends the context of a task that no bulkhead limits.
	cancel context.CancelCauseFunc
	// unwatch ends the watch over ctx while the task is queued.
	unwatch func() bool
}

// submit queues the task or settles it at once.
func (q *queued) submit() {
	b := q.bulkhead
	if b == nil {
		q.ctx, q.cancel = context.WithCancelCause(q.ctx)
		go q.runFreely()
		return
	}
	if err := b.accept(q); err != nil {
		q.settle(err)
	}
}

// accept queues a task, and starts it if there is room.
func (b *Bulkhead) accept(q *queued) error {
	b.mu.Lock()
	defer b.unlock() // also when a context panics
	if err := q.ctx.Err(); err != nil {
		return b.cancelled(q.ctx, err, 0)
	}
	if b.ended != nil {
		return b.reject(b.ended, 0)
	}
	q.joined = b.now()
	q.place = b.tasks.waiting.PushBack(q)
	b.pump()
	if q.place == nil {
		return nil // it runs, or was settled
	}
	if b.tasks.queued() > b.cfg.Load().queueCapacity {
		b.unqueue(q)
		return b.reject(ErrQueueFull, 0)
	}
	if q.ctx.Done() != nil {
		q.unwatch = context.AfterFunc(q.ctx, func() { q.abandon(q.ctx.Err()) })
	}
	return nil
}

// recall takes the tasks out of the line that a lower maxConcurrency has no room
// for, last come first. b.mu is held.
func (b *Bulkhead) recall() {
	c := b.cfg.Load()
	for place := b.line.waiters.Back(); place != nil && c.maxConcurrency > 0 && b.tasks.inLine > 0 &&
		b.tasks.holding+b.tasks.inLine > c.maxConcurrency; {
		q := place.Value.(*waiter).task //nolint:errcheck // the line holds waiters alone
		place = place.Prev()
		if q != nil {
			b.unqueue(q)
			q.place = b.tasks.waiting.PushFront(q)
		}
	}
}

// pump lets tasks join the line while their share of the slots has room. b.mu is
// held.
func (b *Bulkhead) pump() {
	for front := b.tasks.waiting.Front(); front != nil && b.taskRoom(); front = b.tasks.waiting.Front() {
		q := b.tasks.waiting.Remove(front).(*queued) //nolint:errcheck // the list holds tasks alone
		b.tasks.inLine++
		b.joinAs(&waiter{joined: q.joined, task: q})
	}
}

// taskRoom says whether one more task may stand in line for a slot. Where nothing
// is limited or nothing admitted, the line decides about each. b.mu is held.
func (b *Bulkhead) taskRoom() bool {
	cfg := b.cfg.Load()
	if cfg.mode != Enforce {
		return true
	}
	return b.tasks.holding+b.tasks.inLine < cfg.taskShare()
}

// taskShare is how many slots tasks may use at once.
func (c config) taskShare() int {
	if c.maxConcurrency > 0 {
		return min(c.limit, c.maxConcurrency)
	}
	return c.limit
}

// unqueue takes a task out of the queue. b.mu is held.
func (b *Bulkhead) unqueue(q *queued) {
	if q.waiter != nil {
		b.tasks.inLine--
		b.remove(q.place)
	} else {
		b.tasks.waiting.Remove(q.place)
	}
	q.place, q.waiter = nil, nil
}

// decided is called for a task when its wait in line is over. b.mu is held.
func (q *queued) decided(p Permit, err error) {
	b := q.bulkhead
	b.tasks.inLine--
	q.place, q.waiter = nil, nil
	if err != nil {
		q.fail(b.reject(err, b.now()-q.joined))
		return
	}
	b.admitted(p)
	b.tasks.active++
	if p.slot.index != noIndex {
		b.tasks.holding++
	}
	q.unwatchContext()
	q.call = p.detail(q.ctx)
	q.call.task = true
	p.slot.details.Store(q.call)
	if b.tasks.relay && b.tasks.next == nil {
		b.tasks.next = q
		return
	}
	go q.work()
}

// fail settles a task that will not run. Nobody's code runs: to settle is to close
// a channel. b.mu is held.
func (q *queued) fail(err error) {
	q.unwatchContext()
	q.settle(err)
}

func (q *queued) unwatchContext() {
	if q.unwatch != nil {
		q.unwatch()
	}
}

// dismissTasks fails every task that has not joined the line. b.mu is held.
func (b *Bulkhead) dismissTasks(reason error) {
	for front := b.tasks.waiting.Front(); front != nil; front = b.tasks.waiting.Front() {
		q := b.tasks.waiting.Remove(front).(*queued) //nolint:errcheck // the list holds tasks alone
		q.place = nil
		q.fail(b.reject(reason, b.now()-q.joined))
	}
}

// abandon takes a queued task out of the queue, and ends the context of a running
// one.
func (q *queued) abandon(err error) {
	b := q.bulkhead
	if b == nil {
		q.cancel(err)
		return
	}
	b.mu.Lock()
	defer b.unlock()
	switch {
	case q.place != nil:
		b.unqueue(q)
		q.fail(b.cancelled(q.ctx, err, b.now()-q.joined))
		b.pump()
	case q.call != nil:
		q.call.cancel(err)
	}
}

// work runs the task, and then whatever task is next, so that a busy queue needs
// no new goroutine for each.
func (q *queued) work() {
	for q != nil {
		q = q.workOne()
	}
}

// workOne runs one task and gives its slot back before it settles the future: who
// sees the outcome finds the room.
func (q *queued) workOne() (next *queued) {
	err, exiting := ErrGoexit, true
	defer func() {
		next = q.finish(err)
		if exiting && next != nil {
			go next.work() // runtime.Goexit ends this goroutine
		}
	}()
	ctx := q.call.ctx
	err = q.bulkhead.explain(ctx, q.runSafely(ctx))
	exiting = false
	return nil
}

// runSafely turns a panic into an error.
func (q *queued) runSafely(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return q.run(ctx)
}

// runFreely runs a task that no bulkhead limits.
func (q *queued) runFreely() {
	err := ErrGoexit
	defer func() {
		q.cancel(nil)
		q.settle(err)
	}()
	err = q.runSafely(q.ctx)
}

// finish ends the call, settles the future, and returns the next task, if one can
// start.
func (q *queued) finish(err error) (next *queued) {
	b, call := q.bulkhead, q.call
	call.cancel(nil)
	b.mu.Lock()
	b.tasks.active--
	b.counts.TasksDone++
	if err != nil {
		b.counts.TaskFailures++
	}
	q.call, q.run = nil, nil // whoever keeps the future keeps no more than the outcome
	b.tasks.relay = true
	b.endTask(call)
	next = b.tasks.next
	b.tasks.relay, b.tasks.next = false, nil
	b.unlock()
	q.settle(err)
	return next
}

// endTask releases a task's slot. b.mu is held.
func (b *Bulkhead) endTask(call *details) {
	p := call.permit
	p.slot.details.CompareAndSwap(call, nil)
	switch {
	case !p.slot.word.CompareAndSwap(p.ticket, freed(p.ticket)):
		b.countTooLate(p)
	case p.slot.index == noIndex:
		b.extras.remove(p.slot)
	default:
		b.tasks.holding--
		b.vacant.Store(int32(p.slot.index) + 1)
	}
	b.roomMade()
}
