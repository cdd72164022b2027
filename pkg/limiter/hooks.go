// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import "time"

// Hooks are told what deserves attention, for logs and traces; counts are cheaper
// for all that only adds up. A nil hook costs nothing.
//
// A hook is called after the fact, never under a lock, on the goroutine that
// brought it about: the refused, waiting or releasing caller's, or, for a lapse
// that nobody else notices first, one of the timer's. It may call the bulkhead, must
// not block and must not panic.
type Hooks struct {
	// Rejected is told of every refusal, with the error that says why.
	Rejected func(service string, err error)
	// Waited is told for how long a caller stood in line, whatever came of it.
	Waited func(service string, waited time.Duration)
	// Lapsed is told of a slot that was held for the whole reclaim window.
	Lapsed func(service string, call Running)
	// Late is told of a call that ended after its slot had lapsed, and its age.
	Late func(service string, age time.Duration)
}

// WithHooks sets the hooks; the default is none.
func WithHooks(h Hooks) Option { return func(c *config) { c.hooks = h } }

// unlock lets go of the lock, and then runs what follows from what happened under it
// and is other people's code: hooks, and what the end of a context sets off.
func (b *Bulkhead) unlock() {
	news := b.news
	b.news = nil
	b.mu.Unlock()
	for _, tell := range news {
		tell()
	}
}

// cancelLater ends a call's context once the lock is free: a custom parent's code
// runs then. b.mu is held.
func (b *Bulkhead) cancelLater(c *callContext, cause error) {
	b.news = append(b.news, func() { c.cancel(cause) })
}

// tell calls a hook, if it is set, once the lock is free. b.mu is held.
func tell[T any](b *Bulkhead, hook func(string, T), about T) {
	if hook != nil {
		b.news = append(b.news, func() { hook(b.name, about) })
	}
}
