// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import "context"

// Permit is what a caller holds while its call is in flight. It is a small
// value; its zero value holds nothing. Whoever acquired it releases it, once.
type Permit struct {
	slot   *slot
	ticket uint64
}

// Outcome says what a release did.
type Outcome uint8

const (
	// Released means that the call ended in time and its slot is free.
	Released Outcome = iota
	// Late means that the slot had lapsed before: it was reclaimed, and the
	// release changed nothing. Of calls that lapsed and have not ended, the last
	// 4,096 are remembered; the release of an older one is Stale.
	Late
	// Stale means that the permit had been released before, or forgotten by Reset:
	// the release changed nothing.
	Stale
)

// String returns the outcome as a word for a log.
func (o Outcome) String() string {
	switch o {
	case Released:
		return "released"
	case Late:
		return "late: the slot was reclaimed"
	default:
		return "stale"
	}
}

// Release ends the call and gives its slot to the head of the line or frees it.
// Only the first release of a permit does anything; what it did is the outcome.
// To ignore the outcome is fine: the bulkhead counts it.
func (p Permit) Release() Outcome {
	s := p.slot
	if s == nil {
		return Released
	}
	b := s.owner
	if s.index == noIndex {
		return b.releaseExtra(p)
	}
	if !s.word.CompareAndSwap(p.ticket, freed(p.ticket)) {
		return b.releaseTooLate(p)
	}
	gate := b.gate.Load()
	if gate&flags != 0 {
		b.releaseSlowly(s, gate)
		return Released
	}
	if hint := &b.stripe().hint; hint.Load() != uint32(s.index) {
		hint.Store(uint32(s.index))
	}
	return Released
}

// releaseSlowly does what a slot that was just freed means for others.
func (b *Bulkhead) releaseSlowly(s *slot, gate uint64) {
	b.vacant.Store(int32(s.index) + 1)
	if gate&flags&^(full|looking) == 0 {
		b.gate.lift(full | looking)
		return
	}
	b.mu.Lock()
	defer b.unlock()
	b.roomMade()
}

// releaseExtra ends a call that was admitted without a slot. Its word and its
// place on the list change as one: between the two, Reset would free it again.
func (b *Bulkhead) releaseExtra(p Permit) Outcome {
	b.mu.Lock()
	defer b.unlock()
	defer b.roomMade()
	if !p.slot.word.CompareAndSwap(p.ticket, freed(p.ticket)) {
		return b.countTooLate(p)
	}
	b.extras.remove(p.slot)
	return Released
}

// releaseTooLate tells a late release from a stale one.
func (b *Bulkhead) releaseTooLate(p Permit) Outcome {
	b.mu.Lock()
	defer b.unlock()
	outcome := b.countTooLate(p)
	b.roomMade()
	return outcome
}

func (b *Bulkhead) countTooLate(p Permit) Outcome {
	if call := b.lapsed.forget(p.slot, p.ticket); call != nil {
		b.counts.LateReleases++
		tell(b, b.cfg.Load().hooks.Late, b.now()-call.admitted)
		return Late
	}
	b.counts.StaleReleases++
	return Stale
}

// begin derives the context that a call runs with, and leaves with the slot what
// it takes to end it: when the slot lapses, or when a drain gives up on the call.
// The context has no deadline of its own, because a reload may move the window.
func (p Permit) begin(parent context.Context) *details {
	b, d := p.slot.owner, p.detail(parent)
	if !d.attach() {
		b.beginTooLate(d)
	}
	if b.cutShort.Load() { // CancelRunning may have looked for details too early
		d.cancel(ErrDraining)
	}
	return d
}

// attach leaves the details with the slot, unless it is in other hands by now:
// whoever has it then keeps what it left there.
func (d *details) attach() bool {
	p := d.permit
	for p.slot.word.Load() == p.ticket {
		old := p.slot.details.Load()
		// Look at the word again: details of a later holder must not be taken for old.
		if p.slot.word.Load() != p.ticket || !p.slot.details.CompareAndSwap(old, d) {
			continue
		}
		// Whoever took the slot away meanwhile may have looked for details too early.
		if p.slot.word.Load() == p.ticket {
			return true
		}
		p.slot.details.CompareAndSwap(d, nil)
	}
	return false
}

func (p Permit) detail(parent context.Context) *details {
	return &details{callContext: callContext{parent: parent}, permit: p, admitted: p.slot.owner.now()}
}

func (b *Bulkhead) beginTooLate(d *details) {
	b.mu.Lock()
	defer b.unlock()
	if call := b.lapsed.calls[d.permit]; call != nil {
		call.context = &d.callContext
		if b.cfg.Load().cancels() {
			b.cancelLater(&d.callContext, ErrReclaimed)
		}
	}
}

// end releases the call, and its context, whatever a custom context does.
func (d *details) end() {
	defer func() {
		d.permit.slot.details.CompareAndSwap(d, nil)
		d.permit.Release()
	}()
	d.cancel(nil)
}
