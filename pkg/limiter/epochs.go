// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"sync/atomic"
	"time"
)

// Reading the clock costs several times as much as taking a slot. So a slot is
// not stamped with the time but with the number of an epoch, and only an epoch's
// end is timed: a slot of epoch e was acquired no later than e ended. Counted from
// then, a slot lapses never too early, and too late by at most an epoch's length,
// which is a small part of the window.
//
// Epochs end by one timer. Nothing is armed while nothing is stamped, and nothing
// at all when slots are held until released.
type epochs struct {
	// current is the epoch that slots are stamped with now.
	current atomicEpoch
	// restarted is when the windows of all held slots last began anew.
	restarted time.Duration
	// ended is when each of the last epochs ended, by number.
	ended [rememberedEpochs]time.Duration

	timer *time.Timer
	// due is when the timer fires; meaningful while set.
	due time.Duration
	set bool
	// closing is when the current epoch ends; meaningful while it is armed.
	closing time.Duration
}

const (
	// epochsPerWindow sets the length of an epoch: half a percent of the window.
	epochsPerWindow = 200
	// shortestEpoch bounds how often the timer fires.
	shortestEpoch = 500 * time.Microsecond
	// rememberedEpochs is more than can end within a window: a power of two above
	// epochsPerWindow with room for the epochs that a reload ends early.
	rememberedEpochs = 512
)

// epoch is the number of an epoch, and whether its end is due at a known time.
// Whoever stamps a slot with an epoch that is not armed arms it.
type epoch uint64

const armedBit = 1

func newEpoch(number uint64) epoch { return epoch(number << 1) }
func (e epoch) number() uint64     { return uint64(e) >> 1 }
func (e epoch) armed() bool        { return e&armedBit != 0 }

type atomicEpoch struct{ v atomic.Uint64 }

func (a *atomicEpoch) Load() epoch   { return epoch(a.v.Load()) }
func (a *atomicEpoch) Store(e epoch) { a.v.Store(uint64(e)) }

// stamp brings the stamp of a slot that was just taken up to date, and makes sure
// that its epoch ends. It fails if the slot was reset, or swept up with the old
// stamp, meanwhile: then it is not the caller's.
func (b *Bulkhead) stamp(s *slot, ticket uint64) (uint64, bool) {
	for {
		now := b.epochs.current.Load()
		switch {
		case epochOf(ticket) != now.number()&epochMask:
			fresh := stamped(ticket, now.number())
			if !s.word.CompareAndSwap(ticket, fresh) {
				b.disown(s, ticket)
				return 0, false
			}
			ticket = fresh
		case now.armed():
			return ticket, true
		default:
			b.mu.Lock()
			b.armEpoch()
			b.unlock()
		}
	}
}

// disown gives up a slot that was swept up between its swap and its stamp: there is
// no call, and nobody shall wait for it to end.
func (b *Bulkhead) disown(s *slot, ticket uint64) {
	b.mu.Lock()
	defer b.unlock()
	b.giveBack(Permit{s, ticket})
}

// armEpoch makes sure that the current epoch ends. b.mu is held.
func (b *Bulkhead) armEpoch() {
	e := b.epochs.current.Load()
	if e.armed() {
		return
	}
	if window := b.cfg.Load().reclaimAfter; window != Forever {
		now := b.now()
		b.epochs.closing = now + max(window/epochsPerWindow, shortestEpoch)
		b.setTimer(now, b.epochs.closing)
	}
	b.epochs.current.Store(e | armedBit)
}

// endEpoch begins the next epoch. The order matters: whoever stamped the old one
// did so before the new number was seen, and so before the end that is noted.
// b.mu is held.
func (b *Bulkhead) endEpoch() {
	old := b.epochs.current.Load().number()
	b.epochs.current.Store(newEpoch(old + 1))
	b.epochs.ended[old%rememberedEpochs] = b.now()
}

// windowBegan returns when the window of a slot with that stamp began. ok is false
// for the current epoch. A stamp that is too old to be remembered is one that was
// there when the windows began anew (within a window, fewer epochs end), or that a
// caller has yet to renew, who then finds its slot gone. b.mu is held.
func (b *Bulkhead) windowBegan(stamp uint64) (at time.Duration, ok bool) {
	if ended, ok := b.endOf(stamp); ok {
		return max(ended, b.epochs.restarted), true
	}
	return b.epochs.restarted, stamp != b.epochs.current.Load().number()&epochMask
}

// endOf returns when a stamp's epoch ended. ok is false for the current epoch, and
// for one that ended too long ago to be remembered. b.mu is held.
func (b *Bulkhead) endOf(stamp uint64) (at time.Duration, ok bool) {
	current := b.epochs.current.Load().number()
	age := (current - stamp) & epochMask
	if age == 0 || age >= rememberedEpochs {
		return 0, false
	}
	return b.epochs.ended[(current-age)%rememberedEpochs], true
}

// setTimer makes the timer fire at that time, or earlier if it is set for then.
// b.mu is held.
func (b *Bulkhead) setTimer(now, due time.Duration) {
	t := &b.epochs
	if t.set && t.due <= due {
		return
	}
	t.set, t.due = true, due
	if t.timer == nil {
		t.timer = time.AfterFunc(due-now, b.onTimer)
		return
	}
	t.timer.Reset(due - now)
}

// onTimer ends the epoch that is due and makes lapses happen when nothing else
// does.
func (b *Bulkhead) onTimer() {
	b.mu.Lock()
	defer b.unlock()
	b.epochs.set = false
	b.tick(b.now())
}

// tick does what is due. b.mu is held.
func (b *Bulkhead) tick(now time.Duration) {
	if b.cfg.Load().reclaimAfter == Forever {
		return
	}
	if e := b.epochs.current.Load(); e.armed() {
		if now >= b.epochs.closing {
			b.endEpoch()
		} else {
			b.setTimer(now, b.epochs.closing)
		}
	}
	b.sweep(now)
}

// restartWindows lets every held call count from now, under the window that is
// now in force. b.mu is held.
func (b *Bulkhead) restartWindows() {
	b.endEpoch()
	now := b.now()
	b.epochs.restarted = now
	if b.epochs.timer != nil {
		b.epochs.timer.Stop() // one that fires all the same finds nothing to do
	}
	b.epochs.set = false
	b.tick(now)
}
