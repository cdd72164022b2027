// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import "context"

// Permit is what a caller holds while its call is in flight. It is a small
// value; its zero value holds nothing. Whoever acquired it releases it, once.
type Permit struct {
	call   *call
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
	if p.call == nil {
		return Released
	}
	b := p.call.bulkhead
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.call.ticket != p.ticket {
		b.counts.StaleReleases++
		return Stale
	}
	list := p.call.in
	b.end(p.call)
	if list == &b.lapsed {
		b.counts.LateReleases++
		return Late
	}
	if b.line.waiters.Len() > 0 {
		b.serve(b.now())
	}
	return Released
}

// context derives the context that a call runs with: it ends when the call's
// slot lapses or a drain gives up on it. It has no deadline of its own, because a
// reload may move the window.
func (p Permit) context(parent context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	b := p.call.bulkhead
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case p.call.ticket != p.ticket: // forgotten by a Reset
	case p.call.in == &b.lapsed && b.cfg.onReclaim == Cancel:
		cancel(ErrReclaimed)
	default:
		p.call.cancel = cancel
	}
	return ctx, cancel
}
