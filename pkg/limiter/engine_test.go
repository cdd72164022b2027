// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
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

// The same while another caller has armed the next epoch.
func TestStampOfAPausedCallerIsRenewedInAnArmedEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 2, time.Second)
		p := take(t, b, 2)
		read := b.epochs.current.Load()
		p[0].Release()
		time.Sleep(999 * time.Millisecond) // p[1] keeps the timer busy
		p[1].Release()
		rival, mine := take(t, b, 1)[0].slot, b.all[0]
		if rival == mine {
			mine = b.all[1]
		}
		if _, ok := b.claimIn(read, mine, mine.word.Load()); !ok {
			t.Fatal("the free slot was not taken")
		}
		time.Sleep(500 * time.Millisecond)
		if n := b.InFlight(); n != 2 {
			t.Errorf("in flight %d after half a window: the old stamp was kept", n)
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

// What has lapsed when the window changes lapses then, though the timer is late: the
// longer window is for calls that are still within theirs.
func TestChangeOfReclaimAfterFreesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Second)
		take(t, b, 1)
		time.Sleep(500 * time.Millisecond)
		b.epochs.timer.Stop()
		time.Sleep(time.Second)
		configure(t, b, 1, time.Hour)
		if s := b.Stats(); s.InFlight != 0 || s.Counts.Lapsed != 1 {
			t.Errorf("in flight %d, lapsed %d", s.InFlight, s.Counts.Lapsed)
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

// Slots that are held until released need no timer, and an idle bulkhead has none
// that is set.
func TestNothingIsArmedForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, Forever)
		p := take(t, b, 1)[0]
		b.Running()
		if b.epochs.timer != nil {
			t.Error("a timer was made for slots that never lapse")
		}
		p.Release()

		b = mustNew(t, 1, time.Second)
		take(t, b, 1)[0].Release()
		time.Sleep(longest(time.Second))
		if b.mu.Lock(); b.epochs.set {
			t.Error("a timer is set though no slot is held")
		}
		b.mu.Unlock()
	})
}
