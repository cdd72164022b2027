// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// The tests in this file are faults that were found by looking for them: each
// stops one party between two steps while another passes by.

// A call without a slot is released while a Reset forgets it.
func TestExtraIsReleasedAndResetOnce(t *testing.T) {
	b := mustNew(t, 1, time.Hour, WithMode(PassThrough))
	for range 1_000 {
		p := take(t, b, 1)[0]
		done := make(chan Outcome)
		go func() { done <- p.Release() }()
		b.Reset()
		<-done
	}
	if n := b.Stats().Unlimited; n != 0 {
		t.Errorf("%d calls without a slot at rest", n)
	}
	if two := take(t, b, 2); two[0].slot == two[1].slot {
		t.Error("two calls share a record")
	}
}

// A caller acquires and pauses; its slot lapses and a task takes it; the caller
// begins, and must leave the task's context and account alone.
func TestCallThatBeginsTooLateLeavesTheNextHolderAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Second, WithQueue(4, 0))
		r := NewReducer[int](b)
		p := take(t, b, 1)[0]
		time.Sleep(longest(time.Second))
		until := make(chan struct{})
		task := r.Submit(t.Context(), func(ctx context.Context) (int, error) { <-until; return 1, context.Cause(ctx) })
		synctest.Wait()
		p.begin(t.Context()).end()
		time.Sleep(longest(time.Second))
		close(until)
		wantOutcome(t, task, 1, ErrReclaimed)
		wantOutcome(t, r.Submit(t.Context(), quick), 42, nil)
	})
}

func TestCallThatBeginsTooLateLeavesTheNextCallAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Second)
		p := take(t, b, 1)[0]
		time.Sleep(longest(time.Second))
		second := take(t, b, 1)[0].begin(t.Context())
		first := p.begin(t.Context())
		time.Sleep(longest(time.Second))
		if err := context.Cause(second); !errors.Is(err, ErrReclaimed) {
			t.Errorf("the second call's context after its window: %v", err)
		}
		first.end()
		second.end()
	})
}

// More epochs have ended since a slot was taken than are remembered.
func TestSlotOlderThanTheRememberedEpochsLapses(t *testing.T) {
	t.Run("because reloads started its window anew", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := mustNew(t, 2, time.Minute)
			take(t, b, 1)
			for i := range 6 {
				for range 150 {
					take(t, b, 1)[0].Release()
					time.Sleep(312 * time.Millisecond)
				}
				configure(t, b, 2, time.Minute+time.Duration(i%2+1)*time.Second)
			}
			if n := b.InFlight(); n != 1 {
				t.Errorf("in flight %d right after the window began anew, want 1", n)
			}
			time.Sleep(longest(62 * time.Second))
			if n := b.InFlight(); n != 0 {
				t.Errorf("in flight %d after the window", n)
			}
		})
	})
	t.Run("because its window was without end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := mustNew(t, 2, Forever)
			take(t, b, 1)
			for range 2 * rememberedEpochs {
				take(t, b, 1)[0].Release()
				b.InFlight()
			}
			configure(t, b, 2, time.Second)
			time.Sleep(longest(time.Second))
			if n := b.InFlight(); n != 0 {
				t.Errorf("in flight %d after the window", n)
			}
		})
	})
}

// A drain waits for a call that turns out never to have begun.
func TestDrainDoesNotWaitForACallThatNeverWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Second)
		take(t, b, 1)[0].Release()
		s := b.all[0]
		ticket := nextTicket(s.word.Load(), b.epochs.current.Load().number())
		s.word.Store(ticket) // a caller swaps, and pauses
		time.Sleep(longest(time.Second))
		drained := make(chan []Running)
		go func() { drained <- b.Drain(t.Context()) }()
		synctest.Wait()
		if _, ok := b.stamp(s, ticket); ok {
			t.Error("the slot was kept")
		}
		if remain := <-drained; remain != nil {
			t.Errorf("remaining: %+v", remain)
		}
	})
}

func TestLoweredMaxConcurrencyHoldsForTasksInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 3, time.Hour, WithQueue(10, 3))
		r := NewReducer[int](b)
		held := take(t, b, 3)
		until := make(chan struct{})
		var order []int
		var futures []*Future[int]
		for i := range 3 {
			futures = append(futures, r.Submit(t.Context(), func(context.Context) (int, error) {
				order = append(order, i)
				<-until
				return 1, nil
			}))
		}
		configure(t, b, 3, time.Hour, WithQueue(10, 1))
		release(held)
		synctest.Wait()
		if s := b.Stats().Tasks; s.Active != 1 || s.Queued != 2 {
			t.Errorf("%+v with maxConcurrency 1", s)
		}
		close(until)
		for _, f := range futures {
			wantOutcome(t, f, 1, nil)
		}
		if order[0] != 0 || order[1] != 1 || order[2] != 2 {
			t.Errorf("ran in the order %v", order)
		}
	})
}

// Admitted is a counter: who exports it must not see it fall.
func TestAdmittedNeverFalls(t *testing.T) {
	b := mustNew(t, 1, time.Hour, WithMaxWait(time.Hour))
	held := take(t, b, 1)[0]
	b.mu.Lock()
	w := b.join()
	b.mu.Unlock()
	held.Release() // hands over to a caller that has gone away
	before := b.Stats().Counts.Admitted
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.wait(ctx, w, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("wait: %v", err)
	}
	if after := b.Stats().Counts.Admitted; before != 1 || after != 1 {
		t.Errorf("admitted %d, then %d; want 1 and 1", before, after)
	}
}

// A context that panics must not leave the bulkhead locked: servers recover.
func TestPanickingContextLeavesNothingLocked(t *testing.T) {
	b := mustNew(t, 1, time.Hour, WithQueue(1, 0))
	for name, call := range map[string]func(){
		"Submit":  func() { NewReducer[int](b).Submit(nil, quick) }, //nolint:staticcheck // that is the point
		"Acquire": func() { _, _ = b.Acquire(nil) },                 //nolint:staticcheck // that is the point
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s took a nil context", name)
				}
			}()
			call()
		}()
	}
	take(t, b, 1)
}

func TestCancelEndsATaskThatNoBulkheadLimits(t *testing.T) {
	f := NewReducer[int](nil).Submit(t.Context(), blocked(nil))
	f.Cancel()
	wantOutcome(t, f, 0, context.Canceled)
}

func TestAgesOfBarePermits(t *testing.T) {
	t.Run("outlast a change of the window", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := mustNew(t, 1, time.Hour)
			take(t, b, 1)
			time.Sleep(30 * time.Minute)
			configure(t, b, 1, 2*time.Hour)
			if age := b.Running()[0].Age; age > 30*time.Minute || age < 30*time.Minute-time.Hour/epochsPerWindow {
				t.Errorf("age %v after 30 minutes", age)
			}
		})
	})
	t.Run("are known from the next look on where nothing is timed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := mustNew(t, 1, Forever)
			take(t, b, 1)
			for range 600 {
				b.Stats()
				time.Sleep(15 * time.Second)
			}
			if age := b.Running()[0].Age; age != 600*15*time.Second {
				t.Errorf("age %v after 2.5 hours", age)
			}
		})
	})
}

// A window that is nearly without end must not make the timer's time overflow.
func TestNearlyEndlessWindowTimesNothing(t *testing.T) {
	b := mustNew(t, 1, time.Hour)
	take(t, b, 1)
	configure(t, b, 1, math.MaxInt64-1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := b.now(); b.epochs.set && b.epochs.due < now {
		t.Errorf("the timer is due at %v, and it is %v", b.epochs.due, now)
	}
}

// A drain gives up on a call that was admitted and has yet to begin.
func TestCancelRunningReachesACallThatBegins(t *testing.T) {
	b := mustNew(t, 1, time.Hour)
	p := take(t, b, 1)[0]
	b.StopAdmission()
	b.CancelRunning()
	call := p.begin(t.Context())
	if err := context.Cause(call); !errors.Is(err, ErrDraining) {
		t.Errorf("cause %v, want draining", err)
	}
	call.end()
}
