// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// Forever as reclaimAfter means that a slot is held until it is released.
const Forever = time.Duration(math.MaxInt64)

// Bulkhead is one service's concurrency limit in one process. A nil *Bulkhead
// limits nothing. All methods are safe for concurrent use; none blocks but those
// that take a context.
type Bulkhead struct {
	name string
	// base is where the bulkhead's clock starts. It carries a monotonic reading,
	// so a step of the wall clock moves no deadline.
	base time.Time

	mu  sync.Mutex
	cfg config
	// held, lapsed and beyond are the running calls: with a slot, with a slot that
	// lapsed, and admitted without one. held is in the order of its deadlines,
	// because all of its calls have the same window.
	held, lapsed, beyond calls
	unused               *call
	line                 line
	// timer serves the earliest lapse. It is armed while a call is held and fires
	// at most once in a window: it is not moved when a call ends.
	timer *time.Timer
	armed bool
	// ended is why no call is admitted any more: ErrDraining, ErrClosed or nil.
	ended error
	// idle is closed when the last running call ends; nil when nobody waits for it.
	idle   chan struct{}
	counts Counts
}

// New returns a bulkhead for the service of that name.
//
// limit is how many calls may be in flight at once; 0 admits nothing.
// reclaimAfter is how long a slot may be held before it counts as abandoned; it
// must be longer than the longest legitimate call, which is why it has no
// default. Forever means "until released".
//
// The error names the setting and the rule that it breaks.
func New(name string, limit int, reclaimAfter time.Duration, options ...Option) (*Bulkhead, error) {
	cfg, err := newConfig(limit, reclaimAfter, options)
	if err != nil {
		return nil, fmt.Errorf("bulkhead %q: %w", name, err)
	}
	return &Bulkhead{name: name, base: time.Now(), cfg: cfg}, nil
}

// Configure replaces the whole configuration, as one step, while calls are in
// flight; an option that is absent returns to its default. Either everything is
// in force when it returns, or nothing changed and the error names the setting
// and the rule.
//
// A raised limit admits waiting calls at once. A lowered one revokes nothing: no
// call that asks later is admitted while as many are in flight. A different
// reclaimAfter first frees what has lapsed under the old one, then starts the
// window of every call in flight anew. Calls that already wait keep the wait
// budget they came with.
func (b *Bulkhead) Configure(limit int, reclaimAfter time.Duration, options ...Option) error {
	cfg, err := newConfig(limit, reclaimAfter, options)
	if err != nil {
		return fmt.Errorf("bulkhead %q: %w", b.name, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.sweep(now)
	windowChanged := cfg.reclaimAfter != b.cfg.reclaimAfter
	b.cfg = cfg
	if windowChanged {
		b.restartWindows(now)
	}
	b.serve(now)
	return nil
}

// Name returns the service's name; a nil bulkhead has none.
func (b *Bulkhead) Name() string {
	if b == nil {
		return ""
	}
	return b.name
}

// Reset forgets every call in flight: all slots are free, the line is served,
// and the release of an older permit is stale. It stops no call, so the service
// may see more than the limit until they end. It is for tests, and for clearing
// slots that leaked.
func (b *Bulkhead) Reset() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, list := range []*calls{&b.held, &b.lapsed, &b.beyond} {
		for list.first != nil {
			b.end(list.first)
		}
	}
	b.serve(b.now())
}

// now is the time since the bulkhead was made, on the monotonic clock.
func (b *Bulkhead) now() time.Duration { return time.Since(b.base) }
