// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// L26, spotify/futures-extra#25: a submission in the moment of a completion must
// not be forgotten.
func TestL26SubmissionInTheMomentOfCompletion(t *testing.T) {
	r := NewReducer[int](mustNew(t, 1, time.Hour, WithQueue(1, 0)))
	for range 100_000 {
		first := r.Submit(t.Context(), quick)
		second := r.Submit(t.Context(), quick)
		wantOutcome(t, first, 42, nil)
		wantOutcome(t, second, 42, nil)
	}
}

// interrupted is a context that lets something happen when it is asked for its error,
// which is after Submit has seen that there is no room, and before the task is
// where others find it.
type interrupted struct {
	context.Context
	happens func()
	once    *sync.Once
}

func (c interrupted) Err() error {
	c.once.Do(c.happens)
	return nil
}

// A task that is handed over in the moment when room is made, or the end comes, does
// not lie in the inbox until something else happens.
func TestSubmissionIsOvertaken(t *testing.T) {
	until := make(chan struct{})
	b := mustNew(t, 1, Forever, WithQueue(2, 0))
	r := NewReducer[int](b)
	running := r.Submit(t.Context(), blocked(until))
	wantOutcome(t, r.Submit(interrupted{t.Context(), func() {
		close(until)
		wantOutcome(t, running, 1, nil)
	}, new(sync.Once)}, quick), 42, nil)

	running = r.Submit(t.Context(), blocked(nil))
	wantOutcome(t, r.Submit(interrupted{t.Context(), b.Close, new(sync.Once)}, quick), 0, ErrClosed)
	if s := b.Stats(); s.Tasks.Queued != 0 || s.Counts.Closed != 1 {
		t.Errorf("queued %d, closed %d", s.Tasks.Queued, s.Counts.Closed)
	}
	running.Cancel()
	wantOutcome(t, running, 0, context.Canceled)
}

// Tasks start in the order in which they were handed over, whatever happens to others
// in between.
func TestTasksStartInTheirOrder(t *testing.T) {
	b := mustNew(t, 1, Forever, WithQueue(20, 0))
	r, until := NewReducer[int](b), make(chan struct{})
	r.Submit(t.Context(), blocked(until))
	var order []int
	var last *Future[int]
	for i := range 9 {
		last = r.Submit(t.Context(), func(context.Context) (int, error) { order = append(order, i); return i, nil })
		if i%3 == 0 {
			r.Submit(t.Context(), quick).Cancel()
		}
	}
	close(until)
	wantOutcome(t, last, 8, nil)
	if !slices.IsSorted(order) || len(order) != 9 {
		t.Errorf("started in the order %v", order)
	}
}

// A task that is refused for another's place in the queue had stood in line for a
// moment, and so told others that there was no room for them.
func TestRefusedTaskLeavesItsRoomBehind(t *testing.T) {
	b := mustNew(t, 1, Forever, WithQueue(1, 0))
	r := NewReducer[int](b)
	held := take(t, b, 1)[0]
	first := r.Submit(t.Context(), quick) // in line
	if !b.mayOffer() {
		t.Fatal("one task stands in line, and there is room for another")
	}
	first.Cancel()
	if !b.reserve() { // a slow submitter takes the place, and pauses
		t.Fatal("the queue is full")
	}
	wantOutcome(t, r.Submit(t.Context(), quick), 0, ErrQueueFull)
	slow := &Future[int]{task: quick}
	slow.queued = queued{job: slow, bulkhead: b, call: &details{callContext: callContext{parent: t.Context()}, task: true}}
	slow.queued.task = &slow.queued
	b.drop(&slow.queued.waiter)
	held.Release()
	wantOutcome(t, slow, 42, nil)
}

// A task that leaves the line lets the next one into it.
func TestCancelledTaskLeavesItsPlaceToTheNext(t *testing.T) {
	b := mustNew(t, 1, Forever, WithQueue(2, 0))
	r := NewReducer[int](b)
	held := take(t, b, 1)[0]
	first, second := r.Submit(t.Context(), quick), r.Submit(t.Context(), quick)
	first.Cancel()
	held.Release()
	wantOutcome(t, second, 42, nil)
}

// A task whose context has ended does not start, whoever comes first, the watch or
// the slot; and the cause is never lost.
func TestTaskWithAnEndedContextDoesNotStart(t *testing.T) {
	cause := errors.New("client went away")
	b := mustNew(t, 1, Forever, WithQueue(1, 0))
	r := NewReducer[int](b)
	for range 2_000 {
		held := take(t, b, 1)[0]
		ctx, cancel := context.WithCancelCause(t.Context())
		f := r.Submit(ctx, func(context.Context) (int, error) { t.Error("started"); return 0, nil })
		cancel(cause)
		held.Release()
		wantOutcome(t, f, 0, cause)
		wantOutcome(t, f, 0, context.Canceled)
	}
}

// angry is an error that panics when it is looked into.
type angry struct{ text string }

func (e *angry) Error() string { return e.text }
func (e *angry) Unwrap() error { return errors.New(e.text) }

// Not even a task's error stops the process.
func TestTaskWhoseErrorPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Second, WithQueue(1, 0))
		f := NewReducer[int](b).Submit(t.Context(), func(ctx context.Context) (int, error) {
			<-ctx.Done() // it lapses: the error is explained
			return 0, (*angry)(nil)
		})
		var panicked *PanicError
		if _, err := f.Wait(t.Context()); !errors.As(err, &panicked) {
			t.Errorf("outcome %v", err)
		}
	})
}
