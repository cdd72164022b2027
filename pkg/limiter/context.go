// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"sync/atomic"
	"time"
)

// callContext is the context that a call runs with. To make one that can be
// cancelled costs more than all the rest of an admission, and most calls never
// look at theirs: so it is made when somebody does, and is then the standard
// library's in everything, also for context.Cause and for contexts that derive
// from it.
type callContext struct {
	parent context.Context
	state  atomic.Pointer[contextState]
}

// contextState is what became of a callContext: nil at first; then either one that
// was made, or, if nobody had looked by then, the cause for which it ended.
type contextState struct {
	context.Context
	cancel context.CancelCauseFunc
	cause  error
}

// overUnseen is the state of most calls that have ended.
var overUnseen = &contextState{}

// String is for logs. Without it, fmt would read the state, and race.
func (c *callContext) String() string { return "limiter.call" }

// Deadline returns the parent's.
func (c *callContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done returns the channel of the context that is made.
func (c *callContext) Done() <-chan struct{} { return c.look().Done() }

// Err needs no context of its own as long as there is none to tell of. What it
// tells of comes from the one that is made, and so never changes.
func (c *callContext) Err() error {
	if c.state.Load() == nil && c.parent.Err() == nil {
		return nil
	}
	return c.look().Err()
}

// Value finds the context that is made, too: this is how the standard library
// asks for it.
func (c *callContext) Value(key any) any { return c.look().Value(key) }

// look makes the context, if that is still to be done.
func (c *callContext) look() *contextState {
	state := c.state.Load()
	for state == nil || state.Context == nil {
		made := c.from(state)
		if c.state.CompareAndSwap(state, made) {
			return made
		}
		made.cancel(nil)
		state = c.state.Load()
	}
	return state
}

// from makes the context. One that ended unseen ended for its own cause, whatever
// became of its parent since.
func (c *callContext) from(ended *contextState) *contextState {
	made := &contextState{}
	if ended == nil {
		made.Context, made.cancel = context.WithCancelCause(c.parent)
		return made
	}
	made.Context, made.cancel = context.WithCancelCause(context.WithoutCancel(c.parent))
	made.cancel(ended.cause)
	return made
}

// cancel ends the context; the first cause stays, also when it is the parent's. It
// runs a custom parent's code: b.mu is not held.
func (c *callContext) cancel(cause error) {
	if c.state.Load() == nil && c.parent.Err() != nil {
		c.look() // it ended with its parent, before
	}
	ended := overUnseen
	if cause != nil {
		ended = &contextState{cause: cause}
	}
	if c.state.CompareAndSwap(nil, ended) {
		return
	}
	if state := c.state.Load(); state.Context != nil {
		state.cancel(cause)
	}
}

// cause is why the context ended; nil as long as it has not, or if nobody has seen
// it and we did not end it.
func (c *callContext) cause() error {
	switch state := c.state.Load(); {
	case state == nil:
		return nil
	case state.Context == nil:
		return state.cause
	default:
		return context.Cause(state)
	}
}
