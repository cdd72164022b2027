// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"fmt"
	"math"
	"time"
)

// Mode says what a bulkhead does with the calls it is asked to admit.
type Mode uint8

const (
	// Enforce admits as many calls as there are slots.
	Enforce Mode = iota
	// Shadow admits every call and counts those that Enforce would have made wait
	// or refused. Calls above the limit hold no slot, and no lapse ends a context: a
	// limit and a window are tried out without doing anything to anybody.
	Shadow
	// Refuse admits nothing and lets nobody wait.
	Refuse
	// PassThrough admits every call and is not limited; Drain still waits for its
	// calls.
	PassThrough
)

// String returns the mode's name.
func (m Mode) String() string {
	names := [...]string{"Enforce", "Shadow", "Refuse", "PassThrough"}
	if int(m) < len(names) {
		return names[m]
	}
	return fmt.Sprintf("Mode(%d)", m)
}

// OnReclaim says what happens to the context of a running call, as Do and Call
// hand it out, when its slot lapses. In the mode Shadow, nothing does.
type OnReclaim uint8

const (
	// Cancel ends it, with ErrReclaimed as its cause. Without it, a service that
	// hangs would gain as many calls as the limit in each window.
	Cancel OnReclaim = iota
	// Release leaves it alone: the call runs on without a slot.
	Release
)

// Option is a setting of New and Configure that has a default.
type Option func(*config)

// WithMaxWait sets the wait budget: how long a call may wait for a slot before it
// is refused. The default, 0, refuses it at once. Forever is refused: an
// unbounded wait is the pile-up that a bulkhead exists to prevent.
func WithMaxWait(d time.Duration) Option { return func(c *config) { c.maxWait = d } }

// WithMode sets the mode; the default is Enforce.
func WithMode(m Mode) Option { return func(c *config) { c.mode = m } }

// WithOnReclaim sets what happens to a call whose slot lapses; the default is
// Cancel.
func WithOnReclaim(o OnReclaim) Option { return func(c *config) { c.onReclaim = o } }

// WithQueue lets a Reducer queue tasks: capacity, at least 1, is how many may
// wait; maxConcurrency is how many slots tasks may use at once, 0 for as many as
// the limit allows. Without it, a task that finds no room is refused.
func WithQueue(capacity, maxConcurrency int) Option {
	return func(c *config) { c.queue, c.queueCapacity, c.maxConcurrency = true, capacity, maxConcurrency }
}

type config struct {
	// slots are those that callers scan: as many as were made so far, up to the
	// limit.
	slots        []*slot
	limit        int
	reclaimAfter time.Duration
	maxWait      time.Duration
	mode         Mode
	onReclaim    OnReclaim
	hooks        Hooks
	// queue says that there is one.
	queue          bool
	queueCapacity  int
	maxConcurrency int
}

// cancels says whether a lapse ends the call's context.
func (c config) cancels() bool { return c.onReclaim == Cancel && c.mode != Shadow }

func newConfig(limit int, reclaimAfter time.Duration, options []Option) (config, error) {
	c := config{limit: limit, reclaimAfter: reclaimAfter}
	for _, option := range options {
		option(&c)
	}
	return c, c.validate()
}

func (c config) validate() error {
	switch {
	case c.limit < 0 || c.limit > math.MaxInt32:
		return fmt.Errorf("limit: %d: must be from 0 (admit nothing) to %d", c.limit, math.MaxInt32)
	case c.reclaimAfter <= 0:
		return fmt.Errorf("reclaimAfter: %v: must be positive, and longer than the longest legitimate call", c.reclaimAfter)
	case c.maxWait < 0:
		return fmt.Errorf("maxWait: %v: must not be negative", c.maxWait)
	case c.maxWait == Forever:
		return fmt.Errorf("maxWait: unbounded: an unbounded wait is the pile-up that a bulkhead exists to prevent")
	case c.mode > PassThrough:
		return fmt.Errorf("mode: %v: must be Enforce, Shadow, Refuse or PassThrough", c.mode)
	case c.onReclaim > Release:
		return fmt.Errorf("onReclaim: %d: must be Cancel or Release", c.onReclaim)
	case c.queue && c.queueCapacity < 1:
		return fmt.Errorf("queue capacity: %d: must be at least 1", c.queueCapacity)
	case c.maxConcurrency < 0:
		return fmt.Errorf("queue maxConcurrency: %d: must not be negative; 0 is as many as the limit", c.maxConcurrency)
	}
	return nil
}
