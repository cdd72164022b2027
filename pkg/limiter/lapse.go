// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import "time"

// maxLapsed bounds how many lapsed calls are remembered: code that loses its
// permits must not grow memory for ever. Beyond it the oldest is forgotten; should
// it be released after all, that release counts as stale instead of late.
const maxLapsed = 4096

// arm makes sure that the timer fires, at the latest, when the oldest held call
// lapses. One that is armed already is early enough: it was armed for an older
// call, and when it fires it is armed again for what is held then. b.mu is held.
func (b *Bulkhead) arm(now time.Duration) {
	oldest := b.held.first
	if b.armed || oldest == nil || b.cfg.reclaimAfter == Forever {
		return
	}
	b.armed = true
	after := b.cfg.reclaimAfter - (now - oldest.since)
	if b.timer == nil {
		b.timer = time.AfterFunc(after, b.onTimer)
		return
	}
	b.timer.Reset(after)
}

// onTimer is what makes a lapse happen when nothing else happens.
func (b *Bulkhead) onTimer() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.armed = false
	b.sweep(now)
	b.arm(now)
}

// sweep lapses what has been held for the whole window, and serves the line.
// b.mu is held.
func (b *Bulkhead) sweep(now time.Duration) {
	for c := b.held.first; c != nil && now-c.since >= b.cfg.reclaimAfter; c = b.held.first {
		b.lapse(c)
	}
	b.serve(now)
}

// lapse frees a call's slot and remembers the call, which may still be running.
// b.mu is held.
func (b *Bulkhead) lapse(c *call) {
	b.counts.Lapsed++
	b.held.remove(c)
	b.lapsed.push(c)
	if c.cancel != nil && b.cfg.onReclaim == Cancel {
		// Under the lock: ending a context runs none of the caller's code here
		// (context.AfterFunc starts a goroutine), and nothing of it calls back.
		c.cancel(ErrReclaimed)
	}
	if b.lapsed.len > maxLapsed {
		b.end(b.lapsed.first)
	}
}

// restartWindows lets every held call count from now, under the window that is
// now in force. b.mu is held.
func (b *Bulkhead) restartWindows(now time.Duration) {
	for c := b.held.first; c != nil; c = c.next {
		c.since = now
	}
	if b.timer != nil {
		b.timer.Stop() // a timer that fires all the same finds nothing to do
	}
	b.armed = false
	b.arm(now)
}
