// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrSaturated means that no slot was free within the wait budget. It is our
	// own backpressure, not a failure of the service: it should not trip a circuit
	// breaker and is not worth a retry inside the call. It arrives as a
	// *SaturatedError.
	ErrSaturated = errors.New("saturated")
	// ErrRefused means that the bulkhead is in the mode Refuse.
	ErrRefused = errors.New("refuses every call")
	// ErrDraining means that the process is ending and admits no new calls. It is
	// also the cause of the contexts that a drain ends.
	ErrDraining = errors.New("draining")
	// ErrClosed means that the bulkhead was closed.
	ErrClosed = errors.New("closed")
	// ErrQueueFull means that the queue of tasks was full.
	ErrQueueFull = errors.New("queue full")
	// ErrNilTask means that a task was nil.
	ErrNilTask = errors.New("limiter: nil task")
	// ErrGoexit means that a task called runtime.Goexit.
	ErrGoexit = errors.New("limiter: task called runtime.Goexit")
	// ErrPending means that a future's outcome is not known yet.
	ErrPending = errors.New("limiter: outcome not known yet")
	// ErrReclaimed is the cause of a call's context that ended because its slot
	// lapsed: the call ran for longer than reclaimAfter.
	ErrReclaimed = errors.New("slot reclaimed: the call outlived reclaimAfter")
)

// SaturatedError says what a refused call found. errors.Is(err, ErrSaturated)
// holds for it.
type SaturatedError struct {
	// Service is the bulkhead's name.
	Service string
	// Limit and InFlight are what the refusal saw.
	Limit, InFlight int
	// Waited is how long the call waited in line before it was refused.
	Waited time.Duration
	// RetryAfter is zero unless something real is known about when to come back.
	RetryAfter time.Duration
}

// Error returns one line for a log.
func (e *SaturatedError) Error() string {
	return fmt.Sprintf("bulkhead %q: %v: %d in flight at a limit of %d, waited %v",
		e.Service, ErrSaturated, e.InFlight, e.Limit, e.Waited)
}

// Unwrap returns ErrSaturated.
func (e *SaturatedError) Unwrap() error { return ErrSaturated }

// CancelledError is returned to a call whose context ended before it was
// admitted. errors.Is finds the context's error (context.Canceled or
// context.DeadlineExceeded) and its cause.
type CancelledError struct {
	// Service is the bulkhead's name.
	Service string
	// Waited is how long the call had waited in line.
	Waited time.Duration
	// Err is the context's error, Cause its cause; they may be the same.
	Err, Cause error
}

// Error returns one line for a log.
func (e *CancelledError) Error() string {
	return fmt.Sprintf("bulkhead %q: waited %v: %v", e.Service, e.Waited, e.Cause)
}

// Timeout says whether it was the context's deadline that passed: net.Error,
// url.Error and os.IsTimeout ask for it.
func (e *CancelledError) Timeout() bool { return errors.Is(e.Err, context.DeadlineExceeded) }

// Unwrap returns the context's error and its cause.
func (e *CancelledError) Unwrap() []error { return []error{e.Err, e.Cause} }

// PanicError is the outcome of a task that panicked.
type PanicError struct {
	// Value is what it panicked with, Stack where.
	Value any
	Stack []byte
}

// Error returns one line for a log, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("task panicked: %v", e.Value) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
