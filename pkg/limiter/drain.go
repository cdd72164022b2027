// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"time"
)

// Running is a call that had not ended when it was listed.
type Running struct {
	// Age is how long ago it was admitted: exactly for Do, Call and tasks. For a bare
	// permit it may fall short by 1/200 of reclaimAfter. With Forever it falls short
	// by the time until Stats or Running was called next, and reaches back over 512 of
	// those that followed an admission.
	Age time.Duration
	// Lapsed says that it outlived its slot.
	Lapsed bool
}

// Close refuses every later call with ErrClosed, and those that wait. Running
// calls are left alone. It can be called again, and no change of configuration
// opens a closed bulkhead.
func (b *Bulkhead) Close() { b.stop(ErrClosed) }

// StopAdmission refuses every later call with ErrDraining, and those that wait:
// the first half of Drain, for who has to stop several bulkheads before waiting
// for any. It returns how many waiting calls and queued tasks it let go. It can be
// called again; a closed bulkhead stays closed.
func (b *Bulkhead) StopAdmission() (letGo int) { return b.stop(ErrDraining) }

func (b *Bulkhead) stop(reason error) (letGo int) {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.unlock()
	if !errors.Is(b.ended, ErrClosed) {
		b.ended = reason
	}
	b.guard()
	letGo = b.line.len
	b.dismiss(b.ended)
	return letGo + b.dismissTasks(b.ended)
}

// Drain stops admission and waits until no call runs or the context ends. It
// returns the calls that still run then, lapsed ones included, oldest first; none
// is stopped.
func (b *Bulkhead) Drain(ctx context.Context) []Running {
	if b == nil {
		return nil
	}
	b.StopAdmission()
	select {
	case <-b.whenIdle():
	case <-ctx.Done():
	}
	return b.Running()
}

// whenIdle returns a channel that is closed once no call runs.
func (b *Bulkhead) whenIdle() <-chan struct{} {
	b.mu.Lock()
	defer b.unlock()
	if b.idle != nil {
		return b.idle
	}
	idle := make(chan struct{})
	if b.running() == 0 {
		close(idle)
		return idle
	}
	b.idle = idle
	return idle
}

// Running lists the calls that run now, oldest first: those that hold a slot,
// those whose slot has lapsed and those admitted without one.
func (b *Bulkhead) Running() []Running {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.unlock()
	b.observe()
	return b.list(b.now())
}

// CancelRunning ends the contexts of all running calls, as Do and Call handed
// them out, with ErrDraining as their cause.
func (b *Bulkhead) CancelRunning() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.unlock()
	b.cutShort.Store(b.ended != nil)
	for _, c := range b.lapsed.calls {
		if c.context != nil {
			b.cancelLater(c.context, ErrDraining)
		}
	}
	cancel := func(s *slot) {
		if d := s.details.Load(); d != nil && s.word.Load() == d.permit.ticket {
			b.cancelLater(&d.callContext, ErrDraining)
		}
	}
	for _, s := range b.all {
		cancel(s)
	}
	for s := b.extras.first; s != nil; s = s.extra.next {
		cancel(s)
	}
}
