// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Forever as reclaimAfter means that a slot is held until it is released.
const Forever = time.Duration(math.MaxInt64)

// Bulkhead is one service's concurrency limit in one process, made by New. A nil
// *Bulkhead limits nothing (and cannot be configured). All methods are safe for
// concurrent use; none blocks but those that take a context.
type Bulkhead struct {
	// The state is an array of slots that callers take by compare-and-swap. What
	// cannot be decided by one slot alone, such as who is next in line, is decided
	// under a mutex, which callers pass by as long as the gate has no flags.

	// What the fast paths read comes first, and changes rarely.
	gate gate
	cfg  atomic.Pointer[config]
	name string
	// base is where the bulkhead's clock starts. It carries a monotonic reading,
	// so a step of the wall clock moves no deadline.
	base time.Time
	// noRoom says that no task can start before somebody pumps.
	noRoom  atomic.Bool
	epochs  epochs
	striped [stripes]stripe

	// What changes often and is read without the lock has cache lines of its own.
	_ cacheLine
	// vacant is one more than the index of a slot that was freed when all were held.
	vacant atomic.Int32
	_      cacheLine
	inbox  inbox
	_      cacheLine

	mu sync.Mutex
	// all are the slots made so far. They are never taken away, only left out of
	// what a lower limit lets callers scan.
	all []*slot
	// lapsed calls run though their slot has lapsed, extras without ever having had
	// one.
	lapsed  lapsedCalls
	extras  extras
	line    waiters
	callers callers
	tasks   tasks
	// ended is why no call is admitted any more: ErrDraining, ErrClosed or nil.
	ended error
	// idle is closed when the last running call ends; nil when nobody waits for it.
	idle   chan struct{}
	counts Counts
	// news are calls of other people's code that wait for the lock to be free.
	news []func()
	// undone counts the slots that were taken and given back without a call, wraps
	// the sequences that began anew: what the slots say of admissions is off by them.
	undone uint64
	wraps  atomic.Uint64
	// cutShort says that CancelRunning was called after admission had ended.
	cutShort atomic.Bool
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
	b := &Bulkhead{name: name, base: time.Now()}
	for i := range b.striped {
		b.striped[i].hint.Store(uint32(i))
	}
	b.install(cfg)
	return b, nil
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
	defer b.unlock()
	b.sweep(b.now())
	windowChanged := cfg.reclaimAfter != b.cfg.Load().reclaimAfter
	b.install(cfg)
	b.recall()
	if windowChanged {
		b.restartWindows()
	}
	b.roomMade()
	return nil
}

// install puts a configuration in force. b.mu is held.
func (b *Bulkhead) install(cfg config) {
	b.grow(min(cfg.limit, firstSlots))
	cfg.slots = b.all[:min(cfg.limit, len(b.all))]
	b.cfg.Store(&cfg)
	// Callers that read the old configuration find the new version after their swap
	// and think again; those that find it before scan as the new one says.
	b.gate.Add(versionStep)
	b.settleDebt()
	b.guard()
}

// guard sends every call by way of the lock, or lets the slots decide again.
// b.mu is held.
func (b *Bulkhead) guard() {
	if b.ended != nil || b.cfg.Load().mode != Enforce {
		b.gate.Or(guarded)
		return
	}
	b.gate.lift(guarded)
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
// may see more than the limit until they end, and a drain does not wait for them.
// It is for tests, and for clearing slots that leaked.
func (b *Bulkhead) Reset() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.unlock()
	for _, s := range b.all {
		for word := s.word.Load(); isHeld(word) && !s.word.CompareAndSwap(word, freed(word)); word = s.word.Load() {
		}
	}
	b.lapsed = lapsedCalls{}
	b.tasks.holding = 0
	for b.extras.first != nil {
		s := b.extras.first
		s.word.Store(freed(s.word.Load()))
		b.extras.remove(s)
	}
	b.roomMade()
}

// now is the time since the bulkhead was made, on the monotonic clock.
func (b *Bulkhead) now() time.Duration { return time.Since(b.base) }
