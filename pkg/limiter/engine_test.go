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
	"unsafe"

	"pgregory.net/rapid"
)

// The tests in this file look at the engine from inside: they stop a caller
// between two of its steps, which from outside is a matter of luck.

func TestWordFieldsDoNotRunIntoEachOther(t *testing.T) {
	if size := unsafe.Sizeof(slot{}); size != 64 {
		t.Errorf("a slot has %d bytes, want a cache line", size)
	}
	rapid.Check(t, func(t *rapid.T) {
		word := freed(rapid.Uint64().Draw(t, "word"))
		epoch := rapid.Uint64().Draw(t, "epoch")
		ticket := nextTicket(word, epoch)
		if !isHeld(ticket) || epochOf(ticket) != epoch&epochMask || sequenceOf(ticket) != (sequenceOf(word)+1)&(1<<38-1) {
			t.Fatalf("%x taken in epoch %x gives %x", word, epoch, ticket)
		}
		if free := freed(ticket); isHeld(free) || sequenceOf(free) != sequenceOf(ticket) || epochOf(free) != epochOf(ticket) {
			t.Fatalf("%x freed gives %x", ticket, free)
		}
	})
}

// Sequence and epoch numbers wrap; nothing else may happen then.
func TestWrapsAreInvisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Second)
		b.all[0].word.Store(uint64(1<<38-2) << sequenceShift)
		b.undone += 1<<38 - 2
		b.epochs.current.Store(newEpoch(epochMask - 1))
		for i := range 4 {
			stale := take(t, b, 1)[0]
			b.Reset()
			p := take(t, b, 1)[0]
			if got := stale.Release(); got != Stale || b.InFlight() != 1 {
				t.Fatalf("round %d: stale release: %v, in flight %d", i, got, b.InFlight())
			}
			time.Sleep(longest(time.Second))
			if got := p.Release(); got != Late {
				t.Fatalf("round %d: late release: %v", i, got)
			}
		}
		if c := b.Stats().Counts; c.Admitted != 8 || c.Lapsed != 4 {
			t.Errorf("admitted %d, lapsed %d; want 8 and 4", c.Admitted, c.Lapsed)
		}
	})
}

// A caller reads the epoch, pauses until the window has passed, and swaps.
func TestStampOfAPausedCallerIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Second)
		take(t, b, 1)[0].Release()
		s, read := b.all[0], b.epochs.current.Load()
		word := s.word.Load()
		time.Sleep(10 * time.Second)
		ticket, ok := b.claimIn(read, s, word)
		if !ok {
			t.Fatal("the free slot was not taken")
		}
		time.Sleep(time.Second - 1)
		if n := b.InFlight(); n != 1 {
			t.Error("lapsed before its window had passed: the old stamp was kept")
		}
		time.Sleep(longest(time.Second) - time.Second + 1)
		if s.word.Load() == ticket {
			t.Error("a lone slot never lapsed: its epoch was not armed")
		}
	})
}

// A caller swaps, pauses until its slot is swept up with the old stamp and a rival
// has it, and goes on.
func TestSlotSweptUpBeforeItsStampIsNotTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Second)
		take(t, b, 1)[0].Release()
		s := b.all[0]
		ticket := nextTicket(s.word.Load(), b.epochs.current.Load().number())
		s.word.Store(ticket) // the swap
		time.Sleep(longest(time.Second))
		rival := take(t, b, 1)[0]
		if _, ok := b.stamp(s, ticket); ok {
			t.Error("the slot was given to both")
		}
		if s := b.Stats(); s.InFlight != 1 || s.Overdue != 0 || s.Counts.Lapsed != 0 || s.Counts.Admitted != 2 {
			t.Errorf("in flight %d, overdue %d, counts %+v: the call that never was is accounted for", s.InFlight, s.Overdue, s.Counts)
		}
		if got := rival.Release(); got != Released {
			t.Errorf("the rival's release: %v", got)
		}
	})
}

// However late the timer fires, nothing lapses early.
func TestLateTimerMakesLapsesLateNeverEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 2, time.Second)
		take(t, b, 1)
		b.epochs.timer.Stop()
		time.Sleep(900 * time.Millisecond)
		late := take(t, b, 1)[0] // still in the first epoch
		time.Sleep(900 * time.Millisecond)
		b.onTimer()
		if got := late.Release(); got != Released {
			t.Errorf("release within the window: %v", got)
		}
		time.Sleep(longest(time.Second))
		if n := b.InFlight(); n != 0 {
			t.Errorf("in flight %d: the other never lapsed", n)
		}
	})
}

// A caller reads the gate and the configuration, pauses while the limit changes,
// and scans.
func TestPausedCallerThinksAgainAfterAChange(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *Bulkhead){
		"lower":           func(t *testing.T, b *Bulkhead) { configure(t, b, 1, time.Hour) },
		"lower and raise": func(t *testing.T, b *Bulkhead) { configure(t, b, 1, time.Hour); configure(t, b, 8, time.Hour) },
		"to zero":         func(t *testing.T, b *Bulkhead) { configure(t, b, 0, time.Hour) },
		"close":           func(_ *testing.T, b *Bulkhead) { b.Close() },
		"refuse":          func(t *testing.T, b *Bulkhead) { configure(t, b, 8, time.Hour, WithMode(Refuse)) },
	} {
		t.Run(name, func(t *testing.T) {
			b := mustNew(t, 8, time.Hour)
			gate, cfg := b.gate.Load(), b.cfg.Load()
			change(t, b)
			if p, ok := b.takeAs(gate, cfg); ok {
				t.Errorf("kept slot %d", p.slot.index)
			}
			if s := b.Stats(); s.InFlight != 0 || s.Counts.Admitted != 0 {
				t.Errorf("in flight %d, admitted %d; want the slot given back", s.InFlight, s.Counts.Admitted)
			}
		})
	}
}

// Four slots above the new limit and two below are held: nobody is admitted.
func TestHeldSlotsCountWhereverTheyLie(t *testing.T) {
	b := mustNew(t, 8, time.Hour)
	permits := take(t, b, 8)
	high, low := []Permit{}, []Permit{}
	for _, p := range permits {
		if p.slot.index >= 4 {
			high = append(high, p)
		} else {
			low = append(low, p)
		}
	}
	release(low[:2])
	configure(t, b, 4, time.Hour)
	for held := 6; held >= 4; held-- {
		if _, ok := b.TryAcquire(); ok {
			t.Fatalf("admitted with %d in flight at a limit of 4", held)
		}
		high[held-3].Release()
	}
	take(t, b, 1)
	if _, ok := b.TryAcquire(); ok {
		t.Error("admitted a fifth")
	}
	high[0].Release()
	if b.gate.Load()&debt != 0 {
		t.Error("the debt is paid, its flag still set")
	}
	take(t, b, 1)
}

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

// A slot is freed after a scan has found nothing and before the full flag is set.
func TestSlotFreedBeforeTheFlagIsFound(t *testing.T) {
	b := mustNew(t, 1, time.Hour)
	held := take(t, b, 1)[0]
	b.mu.Lock()
	_, err := b.admit()
	held.Release()
	p, again := b.lookAgain()
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
		if err := context.Cause(call.ctx); err != ErrReclaimed { //nolint:errorlint // the cause itself
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

// More slots are made when they are needed, up to the limit and no further.
func TestSlotsAreMadeOnDemand(t *testing.T) {
	const limit = 1000
	b := mustNew(t, limit, time.Hour)
	if n := len(b.all); n != firstSlots {
		t.Errorf("%d slots at first, want %d", n, firstSlots)
	}
	permits := take(t, b, limit)
	if _, ok := b.TryAcquire(); ok || len(b.all) != limit {
		t.Errorf("one more admitted: %t, %d slots", ok, len(b.all))
	}
	release(permits)
	take(t, b, limit)
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
