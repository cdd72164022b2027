// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// revision is a service in whose configuration every value says which one it is from.
func revision(n int) bulkheadconfig.Service {
	return bulkheadconfig.Service{
		Limit: n%64 + 1, MaxWait: time.Duration(n%50+20) * time.Millisecond, ReclaimAfter: time.Hour + time.Duration(n)*time.Second,
	}
}

func publishRevision(v *volume, n int) {
	v.publish(render(v.t, map[string]bulkheadconfig.Service{"payments": revision(n), "search": revision(n)}))
}

// revisionOf returns from which revision a bulkhead's configuration is; false if it
// is torn.
func revisionOf(s limiter.Stats) (n int, whole bool) {
	n = int((s.ReclaimAfter - time.Hour) / time.Second)
	return n, s.Limit == revision(n).Limit && s.MaxWait == revision(n).MaxWait
}

// inForce waits until the revision is what the bulkhead goes by, and returns how
// long that took.
func inForce(t *testing.T, b *limiter.Bulkhead, n int) time.Duration {
	t.Helper()
	begin := time.Now()
	for tick := time.NewTicker(200 * time.Microsecond); ; <-tick.C {
		switch now, whole := revisionOf(b.Stats()); {
		case !whole:
			t.Fatalf("torn: %+v", b.Stats())
		case now == n:
			tick.Stop()
			return time.Since(begin)
		case time.Since(begin) > 30*time.Second:
			t.Fatalf("revision %d is in force, and %d never was: a swap is lost", now, n)
		}
	}
}

// 64 callers while the volume is swapped 1,000 times. There is no polling: every
// swap must be noticed by its events.
func TestReloadUnderLoad(t *testing.T) {
	const callers, swaps = 64, 1000
	v := newVolume(t)
	publishRevision(v, 0)
	a, _ := start(t, v.dir, WithPollInterval(time.Hour), WithLogger(slog.New(slog.DiscardHandler)))
	goroutines := runtime.NumGoroutine()
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range callers {
		b := a.Bulkhead([]string{"payments", "search"}[i%2])
		all.Go(func() { callUntil(ctx, t, b) })
	}
	took := make([]time.Duration, 0, swaps)
	for n := 1; n <= swaps; n++ {
		publishRevision(v, n)
		took = append(took, inForce(t, a.Bulkhead("payments"), n))
		if now, whole := revisionOf(a.Bulkhead("search").Stats()); !whole || now < n-1 {
			t.Fatalf("search is at revision %d, whole: %t; want %d", now, whole, n)
		}
	}
	stop()
	all.Wait()
	slices.Sort(took)
	t.Logf("in force after: median %v, 99 %% %v, all %v", took[swaps/2], took[swaps*99/100], took[swaps-1])
	if late := took[swaps*9/10]; late > 100*time.Millisecond { // the machine may be busy with something else now and then
		t.Errorf("more than one change of ten took %v", late)
	}
	if st := a.Source(); st.Failures != 0 || st.Reloads != swaps+1 || !st.Watched {
		t.Errorf("%d reads failed, %d documents applied, watched: %t; want 0, %d and true", st.Failures, st.Reloads, st.Watched, swaps+1)
	}
	for _, s := range a.Services() {
		if c := s.Counts; s.InFlight+s.Waiting+s.Unlimited+s.Overdue != 0 || c.Lapsed+c.LateReleases+c.StaleReleases != 0 || c.Admitted == 0 {
			t.Errorf("%s: left behind %+v", s.Name, s.Stats)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
		}
	}
}

// callUntil makes calls of two milliseconds, and looks at the configuration in
// between.
func callUntil(ctx context.Context, t *testing.T, b *limiter.Bulkhead) {
	for ctx.Err() == nil {
		err := b.Do(ctx, func(ctx context.Context) error {
			busy := time.NewTimer(2 * time.Millisecond)
			defer busy.Stop()
			select {
			case <-busy.C:
			case <-ctx.Done():
			}
			return nil
		})
		if err != nil && !errors.Is(err, limiter.ErrSaturated) && ctx.Err() == nil {
			t.Errorf("a call failed: %v", err)
		}
		if s := b.Stats(); ctx.Err() == nil {
			if n, whole := revisionOf(s); !whole {
				t.Errorf("torn at revision %d: limit %d, wait %v", n, s.Limit, s.MaxWait)
			}
		}
	}
}

// On a quiet agent, with events.
func TestChangeIsInForceWithin100MillisecondsOfTheSwap(t *testing.T) {
	v := newVolume(t)
	publishRevision(v, 0)
	a, _ := start(t, v.dir, WithPollInterval(time.Hour))
	var took []time.Duration
	for n := 1; n <= 50; n++ {
		publishRevision(v, n)
		took = append(took, inForce(t, a.Bulkhead("payments"), n))
	}
	slices.Sort(took)
	t.Logf("in force after: median %v, slowest %v", took[25], took[49])
	if late := took[45]; late > 100*time.Millisecond {
		t.Errorf("more than one change of ten took %v", late)
	}
}
