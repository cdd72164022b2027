// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import "time"

// firstSlots is how many slots a bulkhead is made with; more are made when that
// many calls are in flight.
const firstSlots = 64

// grow makes slots until there are n. b.mu is held.
func (b *Bulkhead) grow(n int) {
	if n <= len(b.all) {
		return
	}
	fresh := make([]slot, n-len(b.all))
	for i := range fresh {
		fresh[i].owner, fresh[i].index = b, len(b.all)
		b.all = append(b.all, &fresh[i])
	}
}

// held counts the held slots below the limit, and those above it that a lowered
// limit left behind. b.mu is held.
func (b *Bulkhead) held() (below, above int) {
	limit := b.cfg.Load().limit
	for i, s := range b.all {
		switch {
		case !isHeld(s.word.Load()):
		case i < limit:
			below++
		default:
			above++
		}
	}
	return below, above
}

// takeSlot takes a free slot, if the limit allows one more. b.mu is held.
//
// The epoch is armed first, and cannot end while b.mu is held: no slot has to be
// stamped anew, for which b.mu would be needed.
func (b *Bulkhead) takeSlot() (Permit, bool) {
	b.armEpoch()
	cfg := b.cfg.Load()
	if b.gate.Load()&debt != 0 {
		if below, above := b.held(); below+above >= cfg.limit {
			return Permit{}, false
		}
	}
	p, ok := b.scan(cfg, b.scanFrom(0))
	if !ok && len(cfg.slots) < cfg.limit {
		return b.takeNewSlot(cfg), true
	}
	return p, ok
}

// takeNewSlot takes a slot that nobody has seen yet: more are needed than were
// made. b.mu is held.
func (b *Bulkhead) takeNewSlot(cfg *config) Permit {
	first := len(b.all)
	b.grow(min(cfg.limit, 2*first))
	wider := *cfg
	wider.slots = b.all
	s := b.all[first]
	ticket, _ := b.claim(s, s.word.Load())
	b.cfg.Store(&wider)
	return Permit{s, ticket}
}

// scanFrom is where a scan starts: at a slot that was freed when all were held, or
// else at the hint.
func (b *Bulkhead) scanFrom(hint uint32) int {
	if v := b.vacant.Load(); v != 0 && b.vacant.CompareAndSwap(v, 0) {
		return int(v) - 1
	}
	return int(hint)
}

// giveBack frees a slot that was taken for a call that does not begin. b.mu is
// held.
func (b *Bulkhead) giveBack(p Permit) {
	b.undone++
	switch {
	case p.slot.word.CompareAndSwap(p.ticket, freed(p.ticket)):
		if p.slot.index == noIndex {
			b.extras.remove(p.slot)
		}
	case b.lapsed.forget(p.slot, p.ticket) != nil:
		b.counts.Lapsed--
	}
	b.roomMade()
}

// roomMade does what follows when there may be room again: it settles the debt of
// a lowered limit, serves the line, and tells who waits for the last call to end.
// b.mu is held.
func (b *Bulkhead) roomMade() {
	b.gate.lift(full)
	if b.gate.Load()&debt != 0 {
		b.settleDebt()
	}
	b.pump()
	b.serve()
	if b.idle != nil && b.running() == 0 {
		close(b.idle)
		b.idle = nil
	}
}

// settleDebt sets the debt flag, looks at the slots beyond the limit, and lifts
// it when none is held. b.mu is held.
func (b *Bulkhead) settleDebt() {
	b.gate.Or(debt)
	if _, above := b.held(); above == 0 {
		b.gate.lift(debt)
	}
}

// running is how many calls run: with a slot, with a lapsed one, and without.
// b.mu is held.
func (b *Bulkhead) running() int {
	below, above := b.held()
	return below + above + len(b.lapsed.calls) + b.extras.len
}

// extra is what the slot of a call that was admitted without one has beside its
// word: a place on the list of them.
type extra struct {
	prev, next *slot
	admitted   time.Duration
}

// extras lists calls that were admitted without a slot, oldest first.
type extras struct {
	first, last *slot
	len         int
	started     uint64
	// unused slots are kept for later calls.
	unused *slot
}

// start admits a call without a slot. Its word is a ticket as any other. b.mu is
// held.
func (l *extras) start(b *Bulkhead) Permit {
	s := l.unused
	if s == nil {
		s = &slot{owner: b, index: noIndex, extra: &extra{}}
	} else {
		l.unused = s.extra.next
	}
	*s.extra = extra{prev: l.last, admitted: b.now()}
	if l.last == nil {
		l.first = s
	} else {
		l.last.extra.next = s
	}
	l.last = s
	l.len++
	l.started++
	ticket := nextTicket(s.word.Load(), 0)
	s.word.Store(ticket)
	return Permit{s, ticket}
}

// remove takes a call off the list; its word is free already. b.mu is held.
func (l *extras) remove(s *slot) {
	x := s.extra
	if x.prev == nil {
		l.first = x.next
	} else {
		x.prev.extra.next = x.next
	}
	if x.next == nil {
		l.last = x.prev
	} else {
		x.next.extra.prev = x.prev
	}
	l.len--
	*x = extra{next: l.unused}
	l.unused = s
	s.details.Store(nil)
}
