// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// The tests in this file are scenarios from public bug reports of other
// limiters; each names the report it comes from.

// L02, golang/go#63615: a free slot and a context that is already cancelled.
func TestL02CancelledContextTakesNoSlot(t *testing.T) {
	b := mustNew(t, 1, time.Minute, WithMaxWait(time.Second))
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the client went away")
	cancel(why)
	_, err := b.Acquire(ctx)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
		t.Errorf("Acquire: %v, want the context's error and its cause", err)
	}
	if n := b.InFlight(); n != 0 {
		t.Errorf("in flight: %d, want 0", n)
	}
	ran := false
	if err := b.Do(ctx, func(context.Context) error { ran = true; return nil }); !errors.Is(err, context.Canceled) || ran {
		t.Errorf("Do: %v, ran: %t; want the context's error and no call", err, ran)
	}
	if c := b.Stats().Counts; c.Cancelled != 2 || c.Asked() != 2 {
		t.Errorf("counts: %+v, want 2 cancelled of 2 asked", c)
	}
}

// L04, python/asyncio#270: of two that wait, the first is cancelled when it has been
// granted the slot and has yet to run.
func TestL04GrantToACancelledCallIsPassedOn(t *testing.T) {
	b := mustNew(t, 1, time.Hour, WithMaxWait(time.Hour))
	held := take(t, b, 1)[0]
	b.mu.Lock()
	first, second := b.join(), b.join()
	b.mu.Unlock()
	held.Release()
	<-first.decided
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.wait(ctx, first, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("first: %v, want cancelled", err)
	}
	p, err := b.wait(t.Context(), second, time.Hour)
	if err != nil {
		t.Errorf("second: %v, want the slot", err)
	}
	p.Release()
}

// L06, failsafe-lib/failsafe#393: waits that time out must leave nothing behind.
func TestL06TimedOutWaitsLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 8, time.Hour, WithMaxWait(time.Second))
		permits := take(t, b, 8)
		var waits sync.WaitGroup
		for range 8 {
			waits.Go(func() {
				if _, err := b.Acquire(t.Context()); !errors.Is(err, ErrSaturated) {
					t.Errorf("Acquire: %v, want saturated", err)
				}
			})
		}
		waits.Wait()
		release(permits)
		if n := b.InFlight(); n != 0 {
			t.Errorf("in flight: %d, want 0", n)
		}
		take(t, b, 8)
	})
}

// L08, microsoft/vs-threading#521: a cancellation at the moment of the grant.
func TestL08CancelAtTheMomentOfGrant(t *testing.T) {
	b := mustNew(t, 1, time.Hour, WithMaxWait(time.Hour))
	var holders, peak atomic.Int64
	hold := func(p Permit) {
		raise(&peak, holders.Add(1))
		holders.Add(-1)
		p.Release()
	}
	for range 100_000 {
		held := take(t, b, 1)
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		calls.Go(func() {
			if p, err := b.Acquire(ctx); err == nil {
				hold(p)
			}
		})
		calls.Go(cancel)
		calls.Go(func() { release(held) })
		calls.Wait()
	}
	if n := peak.Load(); n > 1 {
		t.Errorf("%d concurrent holders, want at most 1", n)
	}
	if s := b.Stats(); s.InFlight != 0 || s.Waiting != 0 {
		t.Errorf("in flight %d, waiting %d, want none", s.InFlight, s.Waiting)
	}
}

// L10, resilience4j/resilience4j#332: a guarded call is cancelled after its first
// result.
func TestL10CallCancelledAfterItsFirstResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan int)
		ended := make(chan error, 1)
		go func() {
			ended <- b.Do(ctx, func(ctx context.Context) error {
				for i := 0; ; i++ {
					select {
					case results <- i:
					case <-ctx.Done():
						return ctx.Err()
					}
				}
			})
		}()
		<-results
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) || b.InFlight() != 0 {
			t.Errorf("call: %v, in flight %d", err, b.InFlight())
		}
	})
}

// L14, appstrate/appstrate#430: a try right after a release must not add itself
// to the waiter that got the slot.
func TestL14TryDoesNotOvertakeTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 2, time.Hour, WithMaxWait(time.Minute))
		permits := take(t, b, 2)
		admitted := make(chan Permit, 1)
		go func() {
			p, _ := b.Acquire(t.Context())
			admitted <- p
		}()
		synctest.Wait()
		permits[0].Release()
		if _, ok := b.TryAcquire(); ok {
			t.Error("try overtook a waiting call")
		}
		release([]Permit{<-admitted, permits[1]})
	})
}

// L18, tektoncd/pipelines-as-code#2890: raising the limit admits who waits,
// without any other event.
func TestL18RaisingTheLimitAdmitsTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Hour, WithMaxWait(time.Minute))
		take(t, b, 1)
		for range 3 {
			go func() {
				if _, err := b.Acquire(t.Context()); err != nil {
					t.Errorf("Acquire: %v", err)
				}
			}()
		}
		synctest.Wait()
		if err := b.Configure(4, time.Hour, WithMaxWait(time.Minute)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := b.Stats(); s.InFlight != 4 || s.Waiting != 0 {
			t.Errorf("in flight %d, waiting %d; want 4 and 0", s.InFlight, s.Waiting)
		}
	})
}

// L20, redisson/redisson#4086: a release after the lease ran out.
func TestL20ReleaseAfterTheWindowReportsReclaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Second)
		late := take(t, b, 1)[0]
		time.Sleep(longest(time.Second))
		if n := b.InFlight(); n != 0 {
			t.Errorf("in flight after the window: %d, want 0", n)
		}
		next := take(t, b, 1)[0]
		if got := late.Release(); got != Late {
			t.Errorf("release after the window: %v, want %v", got, Late)
		}
		if n := b.InFlight(); n != 1 {
			t.Errorf("in flight after the late release: %d, want the next holder's 1", n)
		}
		if got := next.Release(); got != Released {
			t.Errorf("release in time: %v", got)
		}
		if got := late.Release(); got != Stale {
			t.Errorf("second release: %v, want %v", got, Stale)
		}
		if s := b.Stats(); s.InFlight != 0 || s.Counts.LateReleases != 1 || s.Counts.StaleReleases != 1 || s.Counts.Lapsed != 1 {
			t.Errorf("in flight %d, counts %+v", s.InFlight, s.Counts)
		}
	})
}

// L22, etcd-io/etcd#12291: the wall clock is stepped while a slot is held. This
// test runs on the real clock: under synctest a time.Time has no monotonic part.
func TestL22WallClockStepsMoveNoDeadline(t *testing.T) {
	t.Run("forward, no early reclaim", func(t *testing.T) {
		b := mustNew(t, 1, time.Minute)
		take(t, b, 1)
		stepWallClock(t, &b.base, time.Hour)
		if n := b.InFlight(); n != 1 {
			t.Error("reclaimed before the window had passed")
		}
	})
	t.Run("back, no extension", func(t *testing.T) {
		b := mustNew(t, 1, 10*time.Millisecond, WithMaxWait(10*time.Second))
		take(t, b, 1)
		stepWallClock(t, &b.base, -time.Hour)
		if _, err := b.Acquire(t.Context()); err != nil {
			t.Errorf("still held after the window: %v", err)
		}
	})
}

// L24, vitessio/vitess#20310: waits that timed out ahead of a live one.
func TestL24LiveWaiterBehindTimedOutOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Hour, WithMaxWait(time.Second))
		held := take(t, b, 1)[0]
		var dead sync.WaitGroup
		for range 10_000 {
			dead.Go(func() { _, _ = b.Acquire(t.Context()) })
		}
		synctest.Wait()
		if err := b.Configure(1, time.Hour, WithMaxWait(time.Minute)); err != nil {
			t.Fatal(err)
		}
		live := make(chan error, 1)
		go func() { _, err := b.Acquire(t.Context()); live <- err }()
		dead.Wait()
		held.Release()
		if err := <-live; err != nil {
			t.Errorf("live waiter: %v", err)
		}
	})
}

// stepWallClock makes the wall clock look as if it had been stepped by d since
// *base was read: it moves base's wall seconds by -d and leaves its monotonic
// reading.
// A time.Time with a monotonic reading keeps seconds in bits 30 to 62 of its
// first word (package time, "Time").
func stepWallClock(t *testing.T, base *time.Time, d time.Duration) {
	t.Helper()
	before := *base
	wall := (*uint64)(unsafe.Pointer(base))
	if *wall>>63 == 0 {
		t.Fatal("the bulkhead's base has no monotonic reading")
	}
	*wall -= uint64(int64(d/time.Second)) << 30
	if got := base.Round(0).Sub(before.Round(0)); got != -d || base.Sub(before) != 0 {
		t.Fatalf("wall clock moved by %v and monotonic by %v, want %v and 0", got, base.Sub(before), -d)
	}
}

func mustNew(t *testing.T, limit int, reclaimAfter time.Duration, options ...Option) *Bulkhead {
	t.Helper()
	b, err := New("payments", limit, reclaimAfter, options...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// take acquires n slots without waiting.
func take(t *testing.T, b *Bulkhead, n int) []Permit {
	t.Helper()
	permits := make([]Permit, n)
	for i := range permits {
		var ok bool
		if permits[i], ok = b.TryAcquire(); !ok {
			t.Fatalf("slot %d of %d: refused", i+1, n)
		}
	}
	return permits
}

// raise lifts the peak to n.
func raise(peak *atomic.Int64, n int64) {
	for old := peak.Load(); n > old && !peak.CompareAndSwap(old, n); old = peak.Load() {
	}
}

func release(permits []Permit) {
	for _, p := range slices.Backward(permits) {
		p.Release()
	}
}
