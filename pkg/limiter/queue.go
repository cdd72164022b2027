// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"
)

// tasks are a bulkhead's queue. A task waits first in a list of its own, which
// blocks nobody, and joins the line when the queue's share of the slots has room.
type tasks struct {
	waiting waiters // that are not in line yet
	inLine  int
	// left is how many have left the queue of those that the inbox counts as submitted.
	left atomic.Int64
	// active tasks run; holding is how many of them hold a slot that has not lapsed.
	active, holding int
	// relay is set while a goroutine that finished a task asks for the next; the
	// first task to start then is left in next for it.
	relay bool
	next  *queued
}

// queued is a task on its way: waiting, in line, running or settled.
type queued struct {
	waiter
	job
	bulkhead *Bulkhead
	// call is what runs, once it has a permit, or will; nil once the task has ended (but
	// for one without a bulkhead).
	call  *details
	watch watch
}

// job is what there is to do, of whatever type, and who wants to know.
type job interface {
	run(context.Context) error
	settle(error)
}

// submit queues the task or settles it at once.
func (q *queued) submit() {
	b := q.bulkhead
	if b == nil {
		go q.runFreely()
		return
	}
	ctx := q.call.parent
	q.task, q.joined = q, b.now()
	if !b.offer(ctx, q) {
		if err := b.accept(ctx, q); err != nil {
			q.call = nil
			q.settle(err)
			return
		}
	}
	q.watch.begin(ctx, q)
}

// accept queues a task, and starts it if there is room.
func (b *Bulkhead) accept(ctx context.Context, q *queued) error {
	gone := whyGone(ctx)
	b.mu.Lock()
	defer b.unlock()
	if gone != nil {
		return b.cancelled(gone, 0)
	}
	if b.ended != nil {
		return b.reject(b.ended, 0)
	}
	b.unbox() // what was left there came before
	b.inbox.submitted.Add(1)
	b.tasks.waiting.pushBack(&q.waiter)
	b.pump()
	if q.in != nil && b.queued() > b.cfg.Load().queueCapacity {
		b.unqueue(q)
		b.tasks.left.Add(1)
		b.pump() // it may have left the line, and room with it
		return b.reject(ErrQueueFull, 0)
	}
	return nil
}

// recall takes the tasks out of the line that a lower maxConcurrency has no room
// for, last come first. b.mu is held.
func (b *Bulkhead) recall() {
	c := b.cfg.Load()
	for w := b.line.last; w != nil && c.maxConcurrency > 0 && b.tasks.inLine > 0 &&
		b.tasks.holding+b.tasks.inLine > c.maxConcurrency; {
		q := w.task
		w = w.prev
		if q != nil {
			b.unqueue(q)
			b.tasks.waiting.pushFront(&q.waiter)
		}
	}
}

// pump lets tasks join the line while their share of the slots has room, and says
// whether that is so. As ever: set, look again, act. b.mu is held.
func (b *Bulkhead) pump() {
	for b.pumpOnce(); b.noRoom.Load() == b.taskRoom(); b.pumpOnce() {
		b.noRoom.Store(!b.taskRoom())
	}
}

func (b *Bulkhead) pumpOnce() {
	if b.tasks.waiting.len == 0 { // else there is enough to do with those that came before
		b.unbox()
	}
	for w := b.tasks.waiting.first; w != nil && b.taskRoom(); w = b.tasks.waiting.first {
		b.tasks.waiting.remove(w)
		b.start(w)
	}
}

// start gives a task that has room a slot, or a place in line. b.mu is held.
func (b *Bulkhead) start(w *waiter) {
	if b.line.len == 0 {
		if p, err := b.admit(); !errors.Is(err, ErrSaturated) {
			w.decide(b, p, err)
			return
		}
	}
	b.tasks.inLine++
	b.enqueue(w)
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
	if q.in == &b.tasks.waiting {
		b.tasks.waiting.remove(&q.waiter)
		return
	}
	b.stepOut(&q.waiter)
}

// decided is called for a task when its wait is over. b.mu is held.
func (q *queued) decided(p Permit, err error) {
	b := q.bulkhead
	if err != nil {
		q.fail(b.reject(err, b.now()-q.joined))
		return
	}
	b.tasks.left.Add(1)
	b.admitted(p)
	b.tasks.active++
	if p.slot.index != noIndex {
		b.tasks.holding++
	}
	q.call.permit, q.call.admitted = p, b.now()
	p.slot.details.Store(q.call)
	if b.tasks.relay && b.tasks.next == nil {
		b.tasks.next = q
		return
	}
	go q.work()
}

// fail settles a task that will not run. It runs nobody's code: to settle is to
// close a channel. b.mu is held.
func (q *queued) fail(err error) {
	b := q.bulkhead
	b.tasks.left.Add(1)
	b.news = append(b.news, q.watch.end)
	q.call = nil
	q.settle(err)
}

// dismissTasks fails every task that has not joined the line, and says how many.
// b.mu is held.
func (b *Bulkhead) dismissTasks(reason error) (n int) {
	b.unbox()
	n = b.tasks.waiting.len
	for w := b.tasks.waiting.first; w != nil; w = b.tasks.waiting.first {
		b.tasks.waiting.remove(w)
		w.task.fail(b.reject(reason, b.now()-w.joined))
	}
	return n
}

// abandon takes a queued task out of the queue, and ends the context of a running
// one.
func (q *queued) abandon(why *CancelledError) {
	if call := q.bulkhead.dequeue(q, why); call != nil {
		call.cancel(why.Err)
	}
}

// dequeue takes a task out of the queue, or else returns the call, if it runs.
func (b *Bulkhead) dequeue(q *queued, why *CancelledError) *details {
	if b == nil {
		return q.call // nil if the task was nil
	}
	b.mu.Lock()
	defer b.unlock()
	b.unbox()
	if q.in != nil {
		b.unqueue(q)
		q.fail(b.cancelled(why, b.now()-q.joined))
	}
	b.pump()
	return q.call
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
	err = q.runSafely()
	exiting = false
	return nil
}

// runSafely turns a panic into an error.
func (q *queued) runSafely() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	q.watch.end()
	if gone := q.goneUnnoticed(); gone != nil {
		return gone
	}
	return q.bulkhead.explain(q.call, q.run(&q.call.callContext))
}

// goneUnnoticed says why the submitter's context ended while the task was queued, if
// nobody has noticed yet: such a task does not start.
func (q *queued) goneUnnoticed() error {
	if q.bulkhead == nil {
		return nil
	}
	gone := whyGone(q.call.parent)
	if gone == nil {
		return nil
	}
	gone.Service, gone.Waited = q.bulkhead.name, q.call.admitted-q.joined
	return gone
}

// runFreely runs a task that no bulkhead limits.
func (q *queued) runFreely() {
	err := ErrGoexit
	defer func() {
		q.call.cancel(nil)
		q.settle(err)
	}()
	err = q.runSafely()
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
	q.call = nil // whoever keeps the future keeps no more than the outcome
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
