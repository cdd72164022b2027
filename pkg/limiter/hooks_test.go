// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// listen returns hooks that note what they are told, and call the bulkhead, which
// they could not under its lock.
func listen(b **Bulkhead) (Hooks, *[]string) {
	var heard []string
	var mu sync.Mutex
	note := func(format string, args ...any) {
		(*b).Stats()
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, fmt.Sprintf(format, args...))
	}
	return Hooks{
		Rejected: func(service string, err error) { note("%s rejected: %v", service, errors.Is(err, ErrSaturated)) },
		Waited:   func(service string, waited time.Duration) { note("%s waited %v", service, waited) },
		Lapsed:   func(service string, call Running) { note("%s lapsed at %v, %t", service, call.Age, call.Lapsed) },
		Late:     func(service string, age time.Duration) { note("%s late at %v", service, age) },
	}, &heard
}

func TestHooksAreToldWhatHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *Bulkhead
		hooks, heard := listen(&b)
		b = mustNew(t, 1, 10*time.Second, WithMaxWait(time.Second), WithHooks(hooks))
		err := b.Do(t.Context(), func(ctx context.Context) error {
			if _, err := b.Acquire(t.Context()); !errors.Is(err, ErrSaturated) {
				t.Errorf("second call: %v", err)
			}
			b.TryAcquire()
			b.TryAcquire()
			<-ctx.Done()
			time.Sleep(10 * time.Second)
			return ctx.Err()
		})
		if !errors.Is(err, ErrReclaimed) {
			t.Errorf("call: %v", err)
		}
		synctest.Wait()
		want := []string{
			"payments waited 1s", "payments rejected: true", "payments rejected: true", "payments rejected: true",
			"payments lapsed at 10.05s, true", "payments late at 20.05s",
		}
		if !slices.Equal(*heard, want) {
			t.Errorf("heard %q,\nwant %q", *heard, want)
		}
	})
}

func TestHooksHearOfTasks(t *testing.T) {
	var b *Bulkhead
	var reasons []error
	hooks := Hooks{Rejected: func(_ string, err error) { b.Stats(); reasons = append(reasons, err) }}
	b = mustNew(t, 1, time.Hour, WithQueue(1, 0), WithHooks(hooks))
	r := NewReducer[int](b)
	take(t, b, 1)
	r.Submit(t.Context(), quick)
	r.Submit(t.Context(), quick)
	b.Close()
	if len(reasons) != 2 || !errors.Is(reasons[0], ErrQueueFull) || !errors.Is(reasons[1], ErrClosed) {
		t.Errorf("reasons %v, want queue full and closed", reasons)
	}
}
