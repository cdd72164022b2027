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
	// release changed nothing.
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
	if !s.word.CompareAndSwap(p.ticket, freed(p.ticket)) {
		return b.releaseTooLate(p)
	}
	gate := b.gate.Load()
	if gate&flags != 0 || s.index == noIndex {
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
	if s.index != noIndex {
		b.vacant.Store(int32(s.index) + 1)
		if gate&flags == full {
			b.gate.lift(full)
			return
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.index == noIndex {
		b.extras.remove(s)
	}
	b.roomMade()
}

// releaseTooLate tells a late release from a stale one.
func (b *Bulkhead) releaseTooLate(p Permit) Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	outcome := b.countTooLate(p)
	b.roomMade()
	return outcome
}

func (b *Bulkhead) countTooLate(p Permit) Outcome {
	if b.lapsed.forget(p.slot, p.ticket) {
		b.counts.LateReleases++
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
	p.slot.details.Store(d)
	// Whoever took the slot away meanwhile may have looked for details too early.
	if p.slot.word.Load() != p.ticket {
		b.beginTooLate(d)
	}
	return d
}

func (p Permit) detail(parent context.Context) *details {
	d := &details{permit: p, admitted: p.slot.owner.now()}
	d.ctx, d.cancel = context.WithCancelCause(parent)
	return d
}

func (b *Bulkhead) beginTooLate(d *details) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if call := b.lapsed.calls[d.permit]; call != nil {
		call.cancel = d.cancel
		if b.cfg.Load().onReclaim == Cancel {
			d.cancel(ErrReclaimed)
		}
	}
}

// end releases the call, and its context.
func (d *details) end() {
	d.cancel(nil)
	d.permit.slot.details.CompareAndSwap(d, nil)
	d.permit.Release()
}
