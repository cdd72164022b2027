// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"time"
)

// call is the record of one running call. Records are used again; the ticket
// tells one use from the next.
type call struct {
	bulkhead   *Bulkhead
	prev, next *call
	// in is the list that the call is on; nil when the record is unused.
	in *calls
	// ticket goes up each time the record is given back, so that it never repeats.
	ticket uint64
	// admitted and since are when the call was admitted and when its present window
	// began, on the bulkhead's clock.
	admitted, since time.Duration
	// cancel ends the call's context; nil for a bare permit.
	cancel context.CancelCauseFunc
}

// calls is a list of calls, oldest first. Its zero value is empty.
type calls struct {
	first, last *call
	len         int
}

func (l *calls) push(c *call) {
	c.in, c.prev, c.next = l, l.last, nil
	if l.last == nil {
		l.first = c
	} else {
		l.last.next = c
	}
	l.last = c
	l.len++
}

func (l *calls) remove(c *call) {
	if c.prev == nil {
		l.first = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		l.last = c.prev
	} else {
		c.next.prev = c.prev
	}
	c.in, c.prev, c.next = nil, nil, nil
	l.len--
}

// start puts a new call on the list. b.mu is held.
func (b *Bulkhead) start(on *calls, now time.Duration) Permit {
	c := b.unused
	if c == nil {
		c = &call{bulkhead: b}
	} else {
		b.unused, c.next = c.next, nil
	}
	c.admitted, c.since = now, now
	on.push(c)
	if on == &b.held {
		b.arm(now)
	}
	return Permit{call: c, ticket: c.ticket}
}

// end takes a call off its list and makes its permit stale. b.mu is held.
func (b *Bulkhead) end(c *call) {
	c.in.remove(c)
	c.ticket++
	c.cancel = nil
	b.unused, c.next = c, b.unused
	if b.idle != nil && b.running() == 0 {
		close(b.idle)
		b.idle = nil
	}
}

func (b *Bulkhead) running() int { return b.held.len + b.lapsed.len + b.beyond.len }
