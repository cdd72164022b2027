// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type key struct{}

// A call's context is like one of context.WithCancelCause, whenever somebody looks.
func TestContextOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deadline := time.Now().Add(time.Hour)
		parent, cancel := context.WithDeadline(context.WithValue(t.Context(), key{}, "value"), deadline)
		defer cancel()
		b := mustNew(t, 1, time.Second)
		var kept context.Context
		err := b.Do(parent, func(ctx context.Context) error {
			kept = ctx //nolint:fatcontext // to look at it later is the point
			if got, ok := ctx.Deadline(); !ok || !got.Equal(deadline) {
				t.Errorf("deadline %v, want the parent's", got)
			}
			if ctx.Err() != nil || ctx.Value(key{}) != "value" {
				t.Errorf("error %v, value %v", ctx.Err(), ctx.Value(key{}))
			}
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			<-child.Done()
			return context.Cause(child)
		})
		if !errors.Is(err, ErrReclaimed) || context.Cause(kept) != ErrReclaimed { //nolint:errorlint // the cause itself
			t.Errorf("call: %v, cause %v", err, context.Cause(kept))
		}
	})
}

// Who looks at a context only after it has ended sees what others would have seen
// at the time.
func TestContextThatEndedUnseen(t *testing.T) {
	unseen := func(ctx context.Context, b *Bulkhead, d time.Duration) context.Context {
		kept, _ := Call(ctx, b, func(ctx context.Context) (context.Context, error) { time.Sleep(d); return ctx, nil })
		return kept
	}
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Second)
		parent, cancel := context.WithCancelCause(t.Context())
		ended, lapsed := unseen(parent, b, 0), unseen(parent, b, time.Minute)
		cancel(errors.New("later"))
		for kept, cause := range map[context.Context]error{ended: context.Canceled, lapsed: ErrReclaimed} {
			if kept.Err() != context.Canceled || context.Cause(kept) != cause { //nolint:errorlint // the errors themselves
				t.Errorf("error %v, cause %v; want %v", kept.Err(), context.Cause(kept), cause)
			}
			<-kept.Done()
		}
		if gone := unseen(parent, nil, 0); gone.Err() == nil {
			t.Error("without a bulkhead the context is the caller's, and that has ended")
		}
	})
}

// The parent's end reaches a context that nobody had looked at.
func TestContextEndsWithItsParent(t *testing.T) {
	cause := errors.New("client went away")
	parent, cancel := context.WithCancelCause(t.Context())
	err := mustNew(t, 1, time.Hour).Do(parent, func(ctx context.Context) error {
		cancel(cause)
		if ctx.Err() != context.Canceled {
			t.Errorf("error %v", ctx.Err())
		}
		return context.Cause(ctx)
	})
	if err != cause { //nolint:errorlint // as it is
		t.Errorf("call: %v", err)
	}
}

// All who look see one context, and none misses its end.
func TestContextIsMadeOnce(t *testing.T) {
	for range 2_000 {
		c := &callContext{parent: t.Context()}
		var all sync.WaitGroup
		seen := make([]<-chan struct{}, 4)
		for i := range seen {
			all.Go(func() {
				seen[i] = c.Done()
				<-c.Done()
			})
		}
		c.cancel(ErrDraining)
		all.Wait()
		if got := context.Cause(c); got != ErrDraining { //nolint:errorlint // the cause itself
			t.Fatalf("cause %v", got)
		}
		for _, done := range seen {
			if done != seen[0] {
				t.Fatal("two contexts were made")
			}
		}
	}
}

func TestContextCostsNothingUntilSomebodyLooks(t *testing.T) {
	b, ctx := mustNew(t, 1, time.Hour), t.Context()
	if n := testing.AllocsPerRun(100, func() { _ = b.Do(ctx, func(context.Context) error { return nil }) }); n > 1 {
		t.Errorf("%v allocations, want one for the call", n)
	}
}
