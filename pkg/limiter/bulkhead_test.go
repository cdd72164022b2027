// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNewNamesTheSettingAndTheRule(t *testing.T) {
	for want, option := range map[string]func() error{
		"limit: -1: must be from 0":                        func() error { _, err := New("x", -1, time.Second); return err },
		"reclaimAfter: 0s: must be positive":               func() error { _, err := New("x", 1, 0); return err },
		"maxWait: -1ns: must not be negative":              func() error { _, err := New("x", 1, time.Second, WithMaxWait(-1)); return err },
		"an unbounded wait is the pile-up":                 func() error { _, err := New("x", 1, time.Second, WithMaxWait(Forever)); return err },
		"mode: Mode(9): must be Enforce, Shadow, Refuse":   func() error { _, err := New("x", 1, time.Second, WithMode(9)); return err },
		"onReclaim: 7: must be Cancel or Release":          func() error { _, err := New("x", 1, time.Second, WithOnReclaim(7)); return err },
		`bulkhead "x": limit: 2147483648: must be from 0 `: func() error { _, err := New("x", 1<<31, time.Second); return err },
		"queue capacity: 0: must be at least 1":            func() error { _, err := New("x", 1, time.Second, WithQueue(0, 0)); return err },
		"queue maxConcurrency: -1: must not be negative":   func() error { _, err := New("x", 1, time.Second, WithQueue(1, -1)); return err },
		`bulkhead "payments": limit: -2: must be from 0 `:  func() error { return mustNew(t, 1, time.Second).Configure(-2, time.Second) },
	} {
		if err := option(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestSaturatedErrorSaysWhatTheRefusalSaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 2, time.Hour, WithMaxWait(50*time.Millisecond))
		take(t, b, 2)
		begin := time.Now()
		_, err := b.Acquire(t.Context())
		if waited := time.Since(begin); waited != 50*time.Millisecond {
			t.Errorf("waited %v, want exactly the budget", waited)
		}
		var saturated *SaturatedError
		want := SaturatedError{Service: "payments", Limit: 2, InFlight: 2, Waited: 50 * time.Millisecond}
		if !errors.As(err, &saturated) || *saturated != want || !errors.Is(err, ErrSaturated) {
			t.Errorf("got %#v, want %#v", err, want)
		}
		if !b.Saturated() {
			t.Error("Saturated is false with every slot held")
		}
	})
}

func TestLapse(t *testing.T) {
	t.Run("wakes the line when nothing else happens", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := mustNew(t, 1, time.Second, WithMaxWait(time.Minute))
			take(t, b, 1)
			begin := time.Now()
			if _, err := b.Acquire(t.Context()); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(begin); waited < time.Second || waited > longest(time.Second) {
				t.Errorf("admitted after %v, want when the slot lapsed", waited)
			}
		})
	})
	t.Run("ends the call's context, and Do says so", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := mustNew(t, 1, time.Second)
			err := b.Do(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
			if !errors.Is(err, ErrReclaimed) || !errors.Is(err, context.Canceled) {
				t.Errorf("Do: %v, want reclaimed and the call's own error", err)
			}
			if c := b.Stats().Counts; c.LateReleases != 1 {
				t.Errorf("late releases: %d, want 1", c.LateReleases)
			}
		})
	})
	t.Run("with Release leaves the context alone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := mustNew(t, 1, time.Second, WithOnReclaim(Release))
			err := b.Do(t.Context(), func(ctx context.Context) error { time.Sleep(time.Minute); return ctx.Err() })
			if s := b.Stats(); err != nil || s.Counts.Lapsed != 1 {
				t.Errorf("Do: %v, lapsed %d; want nil and 1", err, s.Counts.Lapsed)
			}
		})
	})
	t.Run("never with Forever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := mustNew(t, 1, Forever)
			p := take(t, b, 1)[0]
			time.Sleep(10 * 365 * 24 * time.Hour)
			if got := p.Release(); got != Released {
				t.Errorf("release: %v", got)
			}
		})
	})
	t.Run("forgets the oldest beyond its bound", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := mustNew(t, maxLapsed+1, time.Second)
			permits := take(t, b, maxLapsed+1)
			time.Sleep(longest(time.Second))
			if n := b.Stats().Overdue; n != maxLapsed {
				t.Errorf("overdue: %d, want %d", n, maxLapsed)
			}
			outcomes := map[Outcome]int{}
			for _, p := range permits {
				outcomes[p.Release()]++
			}
			if outcomes[Stale] != 1 || outcomes[Late] != maxLapsed {
				t.Errorf("releases: %v, want one stale and the rest late", outcomes)
			}
		})
	})
}

func TestChangeOfReclaimAfterStartsTheWindowAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 2, time.Minute)
		take(t, b, 1)
		time.Sleep(59 * time.Second)
		configure(t, b, 3, time.Minute) // an equal window is left alone
		time.Sleep(longest(time.Minute) - 59*time.Second)
		if n := b.InFlight(); n != 0 {
			t.Errorf("in flight: %d, want 0: an equal value must not touch the window", n)
		}
		take(t, b, 1)
		time.Sleep(59 * time.Second)
		configure(t, b, 3, 2*time.Minute)
		time.Sleep(2*time.Minute - 1)
		if n := b.InFlight(); n != 1 {
			t.Errorf("in flight: %d, want 1 until two minutes after the change", n)
		}
		time.Sleep(time.Nanosecond)
		if n := b.InFlight(); n != 0 {
			t.Errorf("in flight: %d, want 0", n)
		}
	})
}

func TestLowerLimitRevokesNothingAndAdmitsNobody(t *testing.T) {
	b := mustNew(t, 8, time.Hour)
	permits := take(t, b, 8)
	configure(t, b, 4, time.Hour)
	if n := b.InFlight(); n != 8 {
		t.Errorf("in flight: %d, want the 8 admitted before", n)
	}
	for i, p := range permits {
		if _, ok := b.TryAcquire(); ok != (8-i < 4) {
			t.Fatalf("with %d in flight at a limit of 4: admitted is %t", 8-i, ok)
		}
		if 8-i < 4 {
			break
		}
		p.Release()
	}
}

func TestLimitZeroAdmitsNothingAndWaitersWaitTheirBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 0, time.Hour, WithMaxWait(time.Second))
		begin := time.Now()
		if _, err := b.Acquire(t.Context()); !errors.Is(err, ErrSaturated) || time.Since(begin) != time.Second {
			t.Errorf("Acquire: %v after %v, want saturated after 1s", err, time.Since(begin))
		}
	})
}

func TestContextEndsAWait(t *testing.T) {
	for name, deadline := range map[string]time.Duration{"shorter than the budget": time.Millisecond, "a tie with the budget": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := mustNew(t, 1, time.Hour, WithMaxWait(time.Second))
				take(t, b, 1)
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				defer cancel()
				if _, err := b.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrSaturated) {
					t.Errorf("Acquire: %v, want the context's error", err)
				}
			})
		})
	}
}

func TestLineIsFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Hour, WithMaxWait(time.Minute))
		held := take(t, b, 1)[0]
		order := make(chan int, 5)
		for i := range 5 {
			go func() {
				p, err := b.Acquire(t.Context())
				if err != nil {
					t.Errorf("waiter %d: %v", i, err)
				}
				order <- i
				p.Release()
			}()
			synctest.Wait()
		}
		held.Release()
		for want := range 5 {
			if got := <-order; got != want {
				t.Errorf("admitted %d, want %d", got, want)
			}
		}
	})
}

func TestStaleReleasesChangeNothing(t *testing.T) {
	b := mustNew(t, 1, time.Hour)
	first := take(t, b, 1)[0]
	b.Reset()
	second := take(t, b, 1)[0]
	if got := first.Release(); got != Stale || b.InFlight() != 1 {
		t.Errorf("release after a reset: %v, in flight %d; want stale and 1", got, b.InFlight())
	}
	second.Release()
	if got := second.Release(); got != Stale || b.InFlight() != 0 {
		t.Errorf("second release: %v, in flight %d; want stale and 0", got, b.InFlight())
	}
}

func TestDoReleasesHoweverTheCallEnds(t *testing.T) {
	b := mustNew(t, 1, time.Hour)
	broken := errors.New("broken")
	if err := b.Do(t.Context(), func(context.Context) error { return broken }); err != broken { //nolint:errorlint // as it is
		t.Errorf("Do: %v, want the call's error as it is", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = b.Do(t.Context(), func(context.Context) error { panic("broken") })
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.Do(t.Context(), func(context.Context) error { runtime.Goexit(); return nil })
	}()
	<-done
	if v, err := Call(t.Context(), b, func(context.Context) (int, error) { return 42, nil }); v != 42 || err != nil {
		t.Errorf("Call: %d, %v", v, err)
	}
	if s := b.Stats(); s.InFlight != 0 || s.Counts.Admitted != 4 {
		t.Errorf("in flight %d, admitted %d; want 0 and 4", s.InFlight, s.Counts.Admitted)
	}
}

func TestNoBulkheadLetsCallsThrough(t *testing.T) {
	var none *Bulkhead
	for name, ok := range map[string]bool{
		"TryAcquire": func() bool { p, ok := none.TryAcquire(); return ok && p.Release() == Released }(),
		"Acquire":    func() bool { _, err := none.Acquire(t.Context()); return err == nil }(),
		"Do":         none.Do(t.Context(), func(context.Context) error { return nil }) == nil,
		"Limit":      func() bool { n, limited := none.Limit(); return n == 0 && !limited }(),
		"state":      none.InFlight() == 0 && !none.Saturated() && none.Name() == "",
		"Drain":      none.Drain(t.Context()) == nil && none.Running() == nil,
	} {
		if !ok {
			t.Errorf("%s: not let through", name)
		}
	}
	none.Reset()
	none.Close()
	none.CancelRunning()
}

// Everything at once: the limit holds, nothing is lost, the counts balance.
func TestEverythingAtOnce(t *testing.T) {
	const workers, rounds, limit = 16, 3_000, 4
	b := mustNew(t, limit, time.Hour, WithMaxWait(50*time.Microsecond))
	var holders, asked atomic.Int64
	hold := func(p Permit) {
		if n := holders.Add(1); n > 2*limit {
			t.Errorf("%d holders, want at most the highest limit", n)
		}
		runtime.Gosched()
		holders.Add(-1)
		p.Release()
		if rand.IntN(8) == 0 {
			p.Release()
		}
	}
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range rounds {
				asked.Add(1)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(200))*time.Microsecond)
				switch rand.IntN(3) {
				case 0:
					if p, ok := b.TryAcquire(); ok {
						hold(p)
					}
				default:
					if p, err := b.Acquire(ctx); err == nil {
						hold(p)
					}
				}
				cancel()
			}
		})
	}
	all.Go(func() {
		for i := range 500 {
			configure(t, b, i%(2*limit+1), time.Hour, WithMaxWait(50*time.Microsecond))
			runtime.Gosched()
		}
		configure(t, b, limit, time.Hour)
	})
	all.Wait()
	s := b.Stats()
	if s.InFlight != 0 || s.Waiting != 0 || s.Overdue != 0 || s.Counts.Asked() != uint64(asked.Load()) {
		t.Errorf("in flight %d, waiting %d, overdue %d, answered %d of %d asked", s.InFlight, s.Waiting, s.Overdue, s.Counts.Asked(), asked.Load())
	}
	take(t, b, limit)
}

func TestAcquireAndReleaseAllocateNothing(t *testing.T) {
	b := mustNew(t, 1, time.Hour)
	take(t, b, 1)[0].Release()
	if n := testing.AllocsPerRun(100, func() {
		p, _ := b.TryAcquire()
		b.TryAcquire()
		p.Release()
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestCountsAddEveryField(t *testing.T) {
	var one, two Counts
	for i := range reflect.TypeFor[Counts]().NumField() {
		for _, c := range []*Counts{&one, &two} {
			if f := reflect.ValueOf(c).Elem().Field(i); f.CanUint() {
				f.SetUint(uint64(i + 1))
			} else {
				f.SetInt(int64(i + 1))
			}
		}
	}
	sum := reflect.ValueOf(one.Add(two))
	for i := range sum.NumField() {
		if got, want := sum.Field(i), 2*(i+1); fmt.Sprint(got.Interface()) != fmt.Sprint(want) && fmt.Sprint(got.Interface()) != time.Duration(want).String() {
			t.Errorf("%s: %v, want %d", sum.Type().Field(i).Name, got, want)
		}
	}
	if got := one.Add(two).Sub(two); got != one {
		t.Errorf("%+v, want %+v", got, one)
	}
}

// longest is how long after its acquisition a slot has lapsed for certain.
func longest(window time.Duration) time.Duration { return window + max(window/100, time.Millisecond) }

func configure(t *testing.T, b *Bulkhead, limit int, reclaimAfter time.Duration, options ...Option) {
	t.Helper()
	if err := b.Configure(limit, reclaimAfter, options...); err != nil {
		t.Fatal(err)
	}
}
