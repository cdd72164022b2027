// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"slices"
	"time"
)

// maxLapsed bounds how many lapsed calls are remembered: code that loses its
// permits must not grow memory for ever. Beyond it the oldest is forgotten; should
// it be released after all, that release counts as stale instead of late.
const maxLapsed = 4096

// lapsedCalls are the calls that run though their slot has lapsed.
type lapsedCalls struct {
	calls map[Permit]*lapsedCall
	// order lists them, oldest lapse first; those that ended are skipped.
	order []Permit
}

type lapsedCall struct {
	admitted time.Duration
	context  *callContext // nil for a bare permit
}

func (l *lapsedCalls) add(p Permit, c *lapsedCall) {
	if l.calls == nil {
		l.calls = map[Permit]*lapsedCall{}
	}
	l.calls[p] = c
	l.order = append(l.order, p)
	if len(l.order) > 2*maxLapsed {
		l.order = slices.DeleteFunc(l.order, func(p Permit) bool { return l.calls[p] == nil })
	}
	for len(l.calls) > maxLapsed {
		delete(l.calls, l.order[0])
		l.order = l.order[1:]
	}
}

// forget removes a call and returns it; nil if it was not there.
func (l *lapsedCalls) forget(s *slot, ticket uint64) *lapsedCall {
	p := Permit{s, ticket}
	call := l.calls[p]
	delete(l.calls, p)
	if len(l.calls) == 0 {
		l.order = nil
	}
	return call
}

// sweep lapses the slots that have been held for the whole window, serves the
// line, and sets the timer for the next lapse. b.mu is held.
func (b *Bulkhead) sweep(now time.Duration) {
	window := b.cfg.Load().reclaimAfter
	if window == Forever {
		return
	}
	lapses, next := 0, Forever
	for _, s := range b.all {
		word := s.word.Load()
		if !isHeld(word) {
			continue
		}
		began, ok := b.windowBegan(epochOf(word))
		switch {
		case !ok:
		case now-began < window:
			next = min(next, began)
		case b.lapse(s, word, b.admittedBefore(s, word, began)):
			lapses++
		}
	}
	if next < Forever-window {
		b.setTimer(now, next+window)
	}
	if lapses > 0 {
		b.roomMade()
	}
}

// lapse frees a slot and remembers its call, which may still be running. b.mu is
// held.
func (b *Bulkhead) lapse(s *slot, ticket uint64, admitted time.Duration) bool {
	if !s.word.CompareAndSwap(ticket, freed(ticket)) {
		return false // released just now
	}
	b.counts.Lapsed++
	call := &lapsedCall{admitted: admitted}
	if d := s.details.Load(); d != nil && d.permit.ticket == ticket {
		call.context = &d.callContext
		if d.task {
			b.tasks.holding--
		}
	}
	b.lapsed.add(Permit{s, ticket}, call)
	if call.context != nil && b.cfg.Load().cancels() {
		b.cancelLater(call.context, ErrReclaimed) // before the hook: who hears of it finds it done
	}
	if hook := b.cfg.Load().hooks.Lapsed; hook != nil {
		tell(b, hook, Running{Age: b.now() - admitted, Lapsed: true})
	}
	return true
}
