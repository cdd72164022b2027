// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"slices"
	"testing"
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
}

func (c interrupted) Err() error {
	c.happens()
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
	}}, quick), 42, nil)

	running = r.Submit(t.Context(), blocked(nil))
	wantOutcome(t, r.Submit(interrupted{t.Context(), b.Close}, quick), 0, ErrClosed)
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
