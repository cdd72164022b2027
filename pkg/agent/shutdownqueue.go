// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sync"
	"time"
)

// ShutdownQueue closes a process's dependencies in the reverse order of their
// registration. It is a safety net for process exit, no substitute for closing
// things earlier where there is an owner. Its zero value is ready to use.
type ShutdownQueue struct {
	mu sync.Mutex
	// entries are kept when they are closed, so that nothing is closed twice.
	entries []entry
	closed  bool
}

type entry struct {
	name   string
	closer io.Closer
}

// Register adds a dependency; name is what reports call it. An object that is
// registered already is not added again (objects that cannot be compared always
// are). After Close has begun it is closed at once, and its error returned.
func (q *ShutdownQueue) Register(name string, closer io.Closer) error {
	if closer == nil {
		return fmt.Errorf("register %s: must not be nil", name)
	}
	e := entry{name, closer}
	if q.add(e) {
		return e.named(<-safely(e.closer.Close))
	}
	return nil
}

// add keeps an entry, and says whether it has to be closed now.
func (q *ShutdownQueue) add(e entry) (now bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if slices.ContainsFunc(q.entries, e.same) {
		return false
	}
	q.entries = append(q.entries, e)
	return q.closed
}

// Close closes every dependency, the last registered first, one after the other,
// and returns their errors, joined. One that fails or panics does not stop the
// next. One that hangs does not either: each is waited for while its share of the
// time that the context leaves lasts (what quick ones leave over is shared by
// those after them). Once the context has ended, each is still told to close, and
// not waited for. A second Close does nothing.
func (q *ShutdownQueue) Close(ctx context.Context) error {
	_, err := q.close(ctx)
	return err
}

func (q *ShutdownQueue) close(ctx context.Context) (closed int, err error) {
	q.mu.Lock()
	var entries []entry
	if !q.closed {
		entries = slices.Clone(q.entries)
	}
	q.closed = true
	q.mu.Unlock()
	var errs []error
	for i, e := range slices.Backward(entries) {
		within, cancel := share(ctx, i+1)
		errs = append(errs, e.closeWithin(within))
		cancel()
	}
	return len(entries), errors.Join(errs...)
}

// share is a fair part of the time that the context leaves to so many.
func share(ctx context.Context, among int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(among))
}

func (e entry) same(other entry) bool {
	return reflect.ValueOf(e.closer).Comparable() && reflect.ValueOf(other.closer).Comparable() && e.closer == other.closer
}

// closeWithin closes, and gives up waiting when the context ends.
func (e entry) closeWithin(ctx context.Context) error {
	select {
	case err := <-safely(e.closer.Close):
		return e.named(err)
	case <-ctx.Done():
		return e.named(fmt.Errorf("not waited for: %w", context.Cause(ctx)))
	}
}

func (e entry) named(err error) error {
	if err != nil {
		return fmt.Errorf("close %s: %w", e.name, err)
	}
	return nil
}
