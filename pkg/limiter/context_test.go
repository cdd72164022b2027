// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"fmt"
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

// A context's end has one cause, the first, whether or not anybody had looked or
// asked before; and what it has said once it says for ever.
func TestContextDoesNotChangeItsMind(t *testing.T) {
	for name, ask := range map[string]func(context.Context){
		"nobody looks": func(context.Context) {},
		"Done":         func(ctx context.Context) { ctx.Done(); time.Sleep(time.Second); <-ctx.Done() },
		"Err": func(ctx context.Context) {
			time.Sleep(1500 * time.Millisecond)
			if ctx.Err() != context.DeadlineExceeded {
				t.Errorf("error %v", ctx.Err())
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := mustNew(t, 1, 2*time.Second)
			parent, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			failure := errors.New("failure")
			kept, err := Call(parent, b, func(ctx context.Context) (context.Context, error) {
				ask(ctx)
				time.Sleep(time.Minute) // the slot lapses
				return ctx, failure
			})
			if err != failure { //nolint:errorlint // as it is
				t.Errorf("%s: call: %v, though the parent's deadline ended it", name, err)
			}
			if kept.Err() != context.DeadlineExceeded || context.Cause(kept) != context.DeadlineExceeded { //nolint:errorlint // the errors themselves
				t.Errorf("%s: error %v, cause %v", name, kept.Err(), context.Cause(kept))
			}
		})
	}
}

// Of nested bulkheads, the one whose slot lapsed is named, once.
func TestLapseIsExplainedByItsOwnBulkhead(t *testing.T) {
	for _, looked := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			outer, inner := mustNew(t, 1, time.Second), mustNew(t, 1, time.Hour)
			outer.name, inner.name = "outer", "inner"
			err := outer.Do(t.Context(), func(ctx context.Context) error {
				ctx.Done()
				return inner.Do(ctx, func(ctx context.Context) error {
					if looked {
						ctx.Done()
					}
					time.Sleep(time.Minute)
					return errors.New("failure")
				})
			})
			if want := `bulkhead "outer": ` + ErrReclaimed.Error() + `: failure`; err.Error() != want {
				t.Errorf("looked %t: %v, want %s", looked, err, want)
			}
		})
	}
}

// A logger may print a context while it ends.
func TestContextCanBePrinted(t *testing.T) {
	c := &callContext{parent: t.Context()}
	var ended sync.WaitGroup
	ended.Go(func() { c.cancel(ErrReclaimed) })
	for range 100 {
		if got := fmt.Sprint(c); got != "limiter.call" {
			t.Fatal(got)
		}
	}
	ended.Wait()
}

// meddling is a context of the caller's own that calls the bulkhead back whenever it
// is asked something.
type meddling struct {
	context.Context
	b *Bulkhead
}

func (m meddling) Err() error            { m.b.Stats(); return m.Context.Err() }
func (m meddling) Value(k any) any       { m.b.Stats(); return m.Context.Value(k) }
func (m meddling) Done() <-chan struct{} { m.b.Stats(); return m.Context.Done() }
func (m meddling) Deadline() (time.Time, bool) {
	m.b.Stats()
	return m.Context.Deadline()
}

// A caller's own context is asked nothing under the lock.
func TestContextMayCallBack(t *testing.T) {
	wait := func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }
	for name, act := range map[string]func(context.Context, context.CancelFunc, *Bulkhead){
		"done before":  func(ctx context.Context, cancel context.CancelFunc, b *Bulkhead) { cancel(); _, _ = b.Acquire(ctx) },
		"budget spent": func(ctx context.Context, _ context.CancelFunc, b *Bulkhead) { b.TryAcquire(); _, _ = b.Acquire(ctx) },
		"lapse":        func(ctx context.Context, _ context.CancelFunc, b *Bulkhead) { _, _ = Call(ctx, b, wait) },
		"task": func(ctx context.Context, _ context.CancelFunc, b *Bulkhead) {
			<-NewReducer[int](b).Submit(ctx, quick).Done()
		},
		"task that laps": func(ctx context.Context, _ context.CancelFunc, b *Bulkhead) {
			<-NewReducer[int](b).Submit(ctx, wait).Done()
		},
		"queued task starts": func(ctx context.Context, _ context.CancelFunc, b *Bulkhead) {
			p, _ := b.TryAcquire()
			f := NewReducer[int](b).Submit(ctx, quick)
			p.Release()
			<-f.Done()
		},
		"queued task cancelled": func(ctx context.Context, cancel context.CancelFunc, b *Bulkhead) {
			b.TryAcquire()
			f := NewReducer[int](b).Submit(ctx, quick)
			cancel()
			<-f.Done()
		},
		"closed": func(ctx context.Context, _ context.CancelFunc, b *Bulkhead) {
			b.TryAcquire()
			f := NewReducer[int](b).Submit(ctx, quick)
			b.Close()
			<-f.Done()
		},
		"cut short": func(ctx context.Context, _ context.CancelFunc, b *Bulkhead) {
			f := NewReducer[int](b).Submit(ctx, wait)
			b.CancelRunning()
			<-f.Done()
		},
	} {
		b := mustNew(t, 1, 20*time.Millisecond, WithMaxWait(time.Millisecond), WithQueue(2, 0))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		done := make(chan struct{})
		go func() {
			defer close(done)
			act(meddling{ctx, b}, cancel, b)
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("%s: deadlock", name)
		}
		cancel()
	}
}
