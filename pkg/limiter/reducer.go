// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"sync/atomic"
)

// Reducer runs tasks asynchronously on a bulkhead: as many at once as the
// bulkhead's queue settings and its limit allow, and as many waiting as the queue
// holds. It is a view: the queue belongs to the bulkhead, so all its reducers, of
// whatever result type, and its synchronous callers share one limit.
type Reducer[T any] struct{ bulkhead *Bulkhead }

// NewReducer returns a view on the bulkhead for tasks that yield a T. With a nil
// bulkhead every task runs at once.
func NewReducer[T any](b *Bulkhead) Reducer[T] { return Reducer[T]{b} }

// Submit hands a task over and returns its future, always, and never blocks.
// Observe every future: what goes wrong is told there and nowhere else. It has
// failed already with ErrQueueFull when the queue is full, with ErrDraining,
// ErrClosed or ErrRefused when nothing is admitted, and with ErrNilTask; and it
// fails with a *PanicError or ErrGoexit when the task panics or calls
// runtime.Goexit.
//
// A context that ends while the task is queued takes it out of the queue; the
// future fails with a *CancelledError. The task's own context derives from it and
// ends also when the future is cancelled and when the slot lapses, as in Do. It
// outlives Submit: use context.WithoutCancel for work that must outlive a request.
func (r Reducer[T]) Submit(ctx context.Context, task func(context.Context) (T, error)) *Future[T] {
	f := &Future[T]{task: task}
	if task == nil {
		f.settle(ErrNilTask)
		return f
	}
	f.queued = queued{job: f, bulkhead: r.bulkhead, call: &details{callContext: callContext{parent: ctx}, task: true}}
	f.queued.submit()
	return f
}

// Future is the outcome of a task that may still be queued or running. It is made
// by Reducer.Submit.
type Future[T any] struct {
	queued queued
	task   func(context.Context) (T, error)
	done   done
	value  T
	err    error
}

func (f *Future[T]) run(ctx context.Context) (err error) {
	f.value, err = f.task(ctx)
	return err
}

func (f *Future[T]) settle(err error) {
	f.err, f.task = err, nil
	f.done.close()
}

// Done returns a channel that is closed when the outcome is known.
func (f *Future[T]) Done() <-chan struct{} { return f.done.wait() }

// Wait waits for the outcome and returns it. When the context ends first, it
// returns the context's error; the task goes on.
func (f *Future[T]) Wait(ctx context.Context) (T, error) {
	if f.done.closed() {
		return f.value, f.err
	}
	select {
	case <-f.done.wait():
		return f.value, f.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Result returns the outcome, or ErrPending while it is not known.
func (f *Future[T]) Result() (T, error) {
	if f.done.closed() {
		return f.value, f.err
	}
	var none T
	return none, ErrPending
}

// Cancel takes a queued task out of the queue, so that it never starts, and ends
// the context of a running one, which is not abandoned: the future completes when
// the task returns. It does nothing once the outcome is known.
func (f *Future[T]) Cancel() {
	f.queued.abandon(&CancelledError{Err: context.Canceled, Cause: context.Canceled})
}

// done is a channel that is made when somebody waits for it to be closed.
type done struct{ atomic.Pointer[chan struct{}] }

// isDone is what done holds once it is closed.
var isDone = func() *chan struct{} {
	c := make(chan struct{})
	close(c)
	return &c
}()

func (d *done) closed() bool { return d.Load() == isDone }

func (d *done) close() {
	if c := d.Swap(isDone); c != nil {
		close(*c)
	}
}

func (d *done) wait() <-chan struct{} {
	if c := d.Load(); c != nil {
		return *c
	}
	c := make(chan struct{})
	if d.CompareAndSwap(nil, &c) {
		return c
	}
	return *d.Load()
}
