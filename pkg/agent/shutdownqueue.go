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
)

// ShutdownQueue closes a process's dependencies in the reverse order of their
// registration. It is a safety net for process exit, no substitute for closing
// things earlier where there is an owner. Its zero value is ready to use.
type ShutdownQueue struct {
	mu      sync.Mutex
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
	q.mu.Lock()
	e := entry{name, closer}
	if q.closed {
		q.mu.Unlock()
		return e.close()
	}
	defer q.mu.Unlock()
	if !slices.ContainsFunc(q.entries, e.same) {
		q.entries = append(q.entries, e)
	}
	return nil
}

// Close closes every dependency, the last registered first, one after the other,
// and returns their errors, joined. One that fails or panics does not stop the
// next. When the context ends, the one that is being closed and those after it
// are no longer waited for, but each is still told to close. A second Close does
// nothing.
func (q *ShutdownQueue) Close(ctx context.Context) error {
	_, err := q.close(ctx)
	return err
}

func (q *ShutdownQueue) close(ctx context.Context) (closed int, err error) {
	q.mu.Lock()
	entries := q.entries
	q.entries, q.closed = nil, true
	q.mu.Unlock()
	var errs []error
	for _, e := range slices.Backward(entries) {
		if err := e.closeWithin(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	return len(entries), errors.Join(errs...)
}

func (e entry) same(other entry) bool {
	return reflect.ValueOf(e.closer).Comparable() && reflect.ValueOf(other.closer).Comparable() && e.closer == other.closer
}

// closeWithin closes, and gives up waiting when the context ends.
func (e entry) closeWithin(ctx context.Context) error {
	done := make(chan error, 1)
	go func() {
		err := fmt.Errorf("close %s: called runtime.Goexit", e.name)
		defer func() { done <- err }()
		err = e.close()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("close %s: not waited for: %w", e.name, context.Cause(ctx))
	}
}

func (e entry) close() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("close %s: panic: %v", e.name, p)
		}
	}()
	if err := e.closer.Close(); err != nil {
		return fmt.Errorf("close %s: %w", e.name, err)
	}
	return nil
}
