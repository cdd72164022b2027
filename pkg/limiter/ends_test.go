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

func TestModes(t *testing.T) {
	t.Run("Shadow admits everything and counts", func(t *testing.T) {
		b := mustNew(t, 1, time.Hour, WithMode(Shadow))
		permits := take(t, b, 3)
		if s := b.Stats(); s.InFlight != 1 || s.Unlimited != 2 || s.Counts.Shadowed != 2 {
			t.Errorf("in flight %d, without a slot %d, shadowed %d; want 1, 2, 2", s.InFlight, s.Unlimited, s.Counts.Shadowed)
		}
		release(permits)
		if s := b.Stats(); s.InFlight != 0 || s.Unlimited != 0 {
			t.Errorf("after the releases: in flight %d, without a slot %d", s.InFlight, s.Unlimited)
		}
	})
	t.Run("Refuse admits nothing and lets the line go", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := mustNew(t, 1, time.Hour, WithMaxWait(time.Minute))
			take(t, b, 1)
			waiting := make(chan error, 1)
			go func() { _, err := b.Acquire(t.Context()); waiting <- err }()
			synctest.Wait()
			configure(t, b, 1, time.Hour, WithMode(Refuse))
			if err := <-waiting; !errors.Is(err, ErrRefused) {
				t.Errorf("waiting call: %v, want refused", err)
			}
			if err := b.Do(t.Context(), nil); !errors.Is(err, ErrRefused) {
				t.Errorf("Do: %v, want refused", err)
			}
		})
	})
	t.Run("PassThrough is not limited, and is drained", func(t *testing.T) {
		b := mustNew(t, 0, Forever, WithMode(PassThrough))
		permits := take(t, b, 100)
		if _, limited := b.Limit(); limited || b.InFlight() != 0 || b.Saturated() {
			t.Error("limited, in flight or saturated")
		}
		if n := len(b.Running()); n != 100 {
			t.Errorf("running: %d, want 100", n)
		}
		release(permits)
	})
}

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 2, 10*time.Second, WithMaxWait(time.Minute))
		hung := take(t, b, 1)[0]
		time.Sleep(3 * time.Second)
		quick := take(t, b, 1)[0]
		waiting := make(chan error, 1)
		go func() { _, err := b.Acquire(t.Context()); waiting <- err }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		drained := make(chan []Running, 1)
		go func() { drained <- b.Drain(ctx) }()
		if err := <-waiting; !errors.Is(err, ErrDraining) {
			t.Errorf("waiting call: %v, want draining", err)
		}
		time.Sleep(time.Second)
		quick.Release()
		remain := <-drained
		if len(remain) != 1 || !remain[0].Lapsed || (23*time.Second-remain[0].Age).Abs() > 100*time.Millisecond {
			t.Errorf("remaining: %+v, want the hung call with its age, lapsed", remain)
		}
		hung.Release()
		if remain := b.Drain(t.Context()); remain != nil {
			t.Errorf("second drain: %+v, want none", remain)
		}
		configure(t, b, 100, time.Minute)
		if _, err := b.Acquire(t.Context()); !errors.Is(err, ErrDraining) {
			t.Errorf("a raised limit opened a draining bulkhead: %v", err)
		}
		b.Close()
		b.StopAdmission()
		if _, err := b.Acquire(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	})
}

// CancelRunning reaches calls with a slot, with a lapsed one and without, and tasks.
func TestCancelRunningEndsContextsWithTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Second, WithMode(Shadow), WithOnReclaim(Release), WithQueue(1, 0))
		results := make(chan error, 3)
		call := func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }
		run := func() { go func() { _, err := Call(t.Context(), b, call); results <- err }() }
		run()
		time.Sleep(time.Minute) // it has lapsed
		run()
		synctest.Wait()
		run() // without a slot
		task := NewReducer[int](b).Submit(t.Context(), call)
		synctest.Wait()
		if s := b.Stats(); s.Overdue != 1 || s.InFlight != 1 || s.Unlimited != 2 {
			t.Fatalf("overdue %d, in flight %d, unlimited %d", s.Overdue, s.InFlight, s.Unlimited)
		}
		if list := b.Running(); len(list) != 4 || !list[0].Lapsed || list[0].Age <= list[1].Age {
			t.Errorf("running: %+v, want four, the oldest first", list)
		}
		b.CancelRunning()
		for range 3 {
			if err := <-results; !errors.Is(err, ErrDraining) {
				t.Errorf("call: %v, want draining", err)
			}
		}
		if _, err := task.Wait(t.Context()); !errors.Is(err, ErrDraining) {
			t.Errorf("task: %v, want draining", err)
		}
	})
}

// A window that is tried out in Shadow is counted, and ends nothing.
func TestShadowEndsNoContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Second, WithMode(Shadow))
		err := b.Do(t.Context(), func(ctx context.Context) error { time.Sleep(time.Minute); return ctx.Err() })
		if c := b.Stats().Counts; err != nil || c.Lapsed != 1 || c.LateReleases != 1 {
			t.Errorf("call: %v, lapsed %d, late %d", err, c.Lapsed, c.LateReleases)
		}
	})
}

// Two who drain see the same end.
func TestDrainTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, Forever)
		p := take(t, b, 1)[0]
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if left := b.Drain(t.Context()); len(left) != 0 {
					t.Errorf("left: %v", left)
				}
			})
		}
		synctest.Wait()
		p.Release()
		both.Wait()
	})
}
