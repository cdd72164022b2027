// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The lost flag: at every quiet point a try succeeds.
func TestFullIsNeverLeftSet(t *testing.T) {
	for _, budget := range []time.Duration{0, 20 * time.Microsecond} {
		b := mustNew(t, 1, time.Hour, WithMaxWait(budget))
		for range 300 {
			var all sync.WaitGroup
			for range 16 {
				all.Go(func() {
					for range 20 {
						if p, ok := b.TryAcquire(); ok {
							p.Release()
						}
						if p, err := b.Acquire(t.Context()); err == nil {
							p.Release()
						}
					}
				})
			}
			all.Wait()
			take(t, b, 1)[0].Release()
		}
	}
}

// The same with holders that let their slots lapse.
func TestFullIsNeverLeftSetByALapse(t *testing.T) {
	b := mustNew(t, 2, time.Millisecond, WithMaxWait(time.Minute))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 25 {
				if _, err := b.Acquire(t.Context()); err != nil {
					t.Errorf("a lapse did not serve the line: %v", err)
				}
			}
		})
	}
	all.Wait()
}

// A caller that is about to take the last slot but one, after it had found none,
// makes nobody believe that there is none.
func TestNobodyIsRefusedWhileAnotherLooksAgain(t *testing.T) {
	for round := range 60_000 {
		b := mustNew(t, 2, Forever)
		var looked sync.WaitGroup
		looked.Go(func() {
			b.mu.Lock()
			defer b.unlock()
			if _, err := b.lookAgain(b.admit); err != nil {
				t.Error(err)
			}
		})
		if _, ok := b.TryAcquire(); !ok {
			t.Fatalf("round %d: refused with a free slot, and nobody releases", round)
		}
		looked.Wait()
	}
}

// A slot that is freed after the second look has passed it clears the flag.
func TestSlotFreedDuringTheSecondLook(t *testing.T) {
	b := mustNew(t, 1, Forever)
	held := take(t, b, 1)[0]
	b.mu.Lock()
	_, err := b.lookAgain(func() (Permit, error) {
		defer held.Release()
		return b.admit()
	})
	b.mu.Unlock()
	if err == nil || b.gate.Load()&flags != 0 {
		t.Fatalf("look: %v, flags %b", err, b.gate.Load()&flags)
	}
	take(t, b, 1)
}

// A slot is freed after a scan has found nothing and before the full flag is set.
func TestSlotFreedBeforeTheFlagIsFound(t *testing.T) {
	b := mustNew(t, 1, time.Hour)
	held := take(t, b, 1)[0]
	b.mu.Lock()
	_, err := b.admit()
	held.Release()
	p, again := b.lookAgain(b.admit)
	b.mu.Unlock()
	if err == nil || again != nil || b.gate.Load()&flags != 0 {
		t.Fatalf("first look %v, second look %v, flags %x", err, again, b.gate.Load()&flags)
	}
	p.Release()
}

// A slot is freed after a call was refused and before it stands in line.
func TestSlotFreedBeforeTheCallStandsInLineIsFound(t *testing.T) {
	b := mustNew(t, 1, time.Hour, WithMaxWait(time.Hour))
	held := take(t, b, 1)[0]
	b.mu.Lock()
	_, err := b.enter()
	held.Release()
	w := b.join()
	b.mu.Unlock()
	if err == nil || w.permit.slot == nil {
		t.Fatalf("refusal %v, permit %v; want the slot found", err, w.permit)
	}
	if got := b.gate.Load() & flags; got != 0 {
		t.Errorf("flags %x with nobody in line", got)
	}
}

// A slot is freed, its releaser pauses before it serves the line, and a newcomer
// asks.
func TestNewcomerDoesNotOvertakeWhileASlotIsHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Hour, WithMaxWait(time.Hour))
		held := take(t, b, 1)[0]
		first := make(chan error, 1)
		go func() { _, err := b.Acquire(t.Context()); first <- err }()
		synctest.Wait()
		held.slot.word.Store(freed(held.ticket))
		if _, ok := b.TryAcquire(); ok {
			t.Error("the newcomer got the slot")
		}
		b.releaseSlowly(held.slot, b.gate.Load())
		if err := <-first; err != nil {
			t.Errorf("first in line: %v", err)
		}
	})
}

// A slot lapses between its acquisition and the beginning of its call.
func TestCallThatBeginsAfterItsSlotLapsedIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Second)
		p := take(t, b, 1)[0]
		time.Sleep(longest(time.Second))
		call := p.begin(t.Context())
		if err := context.Cause(call); err != ErrReclaimed { //nolint:errorlint // the cause itself
			t.Errorf("cause %v, want reclaimed", err)
		}
		call.end()
		if s := b.Stats(); s.Overdue != 0 || s.Counts.LateReleases != 1 {
			t.Errorf("overdue %d, late %d", s.Overdue, s.Counts.LateReleases)
		}
	})
}

// A slot is granted to a waiting call, lapses, and is given back because the call
// had gone away.
func TestGrantThatLapsedBeforeItWasGivenBack(t *testing.T) {
	b := mustNew(t, 1, time.Hour)
	p := take(t, b, 1)[0]
	b.mu.Lock()
	b.lapse(p.slot, p.ticket, 0)
	b.giveBack(p)
	b.mu.Unlock()
	if s := b.Stats(); s.Overdue != 0 || s.Counts.Lapsed != 0 || s.Counts.Admitted != 0 {
		t.Errorf("overdue %d, counts %+v: a call that never ran is accounted for", s.Overdue, s.Counts)
	}
}

// tardy is a context whose deadline has passed before it notices.
type tardy struct {
	context.Context
	deadline time.Time
}

func (c tardy) Deadline() (time.Time, bool) { return c.deadline, true }

func TestDeadlineThatTiesWithTheBudgetWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Hour, WithMaxWait(time.Second))
		take(t, b, 1)
		_, err := b.Acquire(tardy{t.Context(), time.Now().Add(time.Second)})
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrSaturated) {
			t.Errorf("%v, want the context's deadline", err)
		}
	})
}

// Forced ties between a hand-over and whatever else may end a wait. Nothing is
// lost: the counts balance, and every slot can be taken at the end.
func TestHandOverTies(t *testing.T) {
	const rounds = 20_000
	rivals := map[string]func(*Bulkhead, context.CancelFunc, Permit){
		"cancel": func(_ *Bulkhead, cancel context.CancelFunc, _ Permit) { cancel() },
		"reset":  func(b *Bulkhead, _ context.CancelFunc, _ Permit) { b.Reset() },
		"lapse": func(b *Bulkhead, _ context.CancelFunc, p Permit) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.lapse(p.slot, p.ticket, 0) {
				b.roomMade()
			}
		},
		"limit": func(b *Bulkhead, _ context.CancelFunc, _ Permit) {
			_ = b.Configure(0, time.Hour, WithMaxWait(time.Minute))
			_ = b.Configure(1, time.Hour, WithMaxWait(time.Minute))
		},
		"budget": func(*Bulkhead, context.CancelFunc, Permit) {},
	}
	for name, rival := range rivals {
		t.Run(name, func(t *testing.T) {
			wait := time.Minute
			if name == "budget" {
				wait = time.Microsecond
			}
			b := mustNew(t, 1, time.Hour, WithMaxWait(wait))
			for range rounds {
				held := take(t, b, 1)[0]
				ctx, cancel := context.WithCancel(t.Context())
				var all sync.WaitGroup
				all.Go(func() {
					if p, err := b.Acquire(ctx); err == nil {
						p.Release()
					}
				})
				all.Go(func() { rival(b, cancel, held) })
				all.Go(func() { held.Release() })
				all.Wait()
				cancel()
			}
			s := b.Stats()
			if s.InFlight != 0 || s.Waiting != 0 || s.Overdue != 0 || s.Counts.Asked() != 2*rounds {
				t.Errorf("in flight %d, waiting %d, overdue %d, %d answers; want 0, 0, 0, %d", s.InFlight, s.Waiting, s.Overdue, s.Counts.Asked(), 2*rounds)
			}
			take(t, b, 1)
			if got := b.gate.Load() & flags; got != 0 {
				t.Errorf("flags %x at rest", got)
			}
		})
	}
}

// Holders within their window never exceed the limit.
func TestHoldersNeverExceedTheLimit(t *testing.T) {
	for _, limit := range []int{1, 3, 8} {
		b := mustNew(t, limit, time.Hour, WithMaxWait(time.Millisecond))
		var holders, peak atomic.Int64
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				for i := range 2_000 {
					p, ok := b.TryAcquire()
					if i%2 == 0 && !ok {
						var err error
						p, err = b.Acquire(t.Context())
						ok = err == nil
					}
					if !ok {
						continue
					}
					raise(&peak, holders.Add(1))
					runtime.Gosched()
					holders.Add(-1)
					p.Release()
				}
			})
		}
		all.Wait()
		if n := peak.Load(); n > int64(limit) {
			t.Errorf("%d holders at a limit of %d", n, limit)
		}
		if n := b.InFlight(); n != 0 {
			t.Errorf("in flight %d at rest", n)
		}
	}
}
