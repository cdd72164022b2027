// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func ongoing(t *testing.T, window time.Duration, options ...Option) (*Bulkhead, Ongoing) {
	t.Helper()
	b, err := New("payments", 1, window, options...)
	if err != nil {
		t.Fatal(err)
	}
	call, err := b.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b, call
}

func TestBeginHoldsASlotUntilTheFirstEnd(t *testing.T) {
	b, call := ongoing(t, time.Minute)
	if _, err := b.Begin(t.Context()); !errors.Is(err, ErrSaturated) || b.InFlight() != 1 {
		t.Errorf("second call: %v, in flight %d", err, b.InFlight())
	}
	ctx := call.Context()
	if ctx.Err() != nil {
		t.Errorf("context before the end: %v", ctx.Err())
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(call.End)
	}
	all.Wait()
	if s := b.Stats(); s.InFlight != 0 || s.Counts.StaleReleases != 0 || !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("after the end: in flight %d, counts %+v, context %v", s.InFlight, s.Counts, ctx.Err())
	}
}

func TestLapseEndsAnOngoingCall(t *testing.T) {
	for _, onReclaim := range []OnReclaim{Cancel, Release} {
		synctest.Test(t, func(t *testing.T) {
			b, call := ongoing(t, 8*time.Second, WithOnReclaim(onReclaim))
			failed := errors.New("failed")
			if err := call.Explain(failed); !errors.Is(err, failed) || errors.Is(err, ErrReclaimed) {
				t.Errorf("before the lapse: %v", err)
			}
			time.Sleep(9 * time.Second)
			synctest.Wait()
			if ended := errors.Is(context.Cause(call.Context()), ErrReclaimed); ended != (onReclaim == Cancel) {
				t.Errorf("onReclaim %d: cause %v", onReclaim, context.Cause(call.Context()))
			}
			if err := call.Explain(failed); !errors.Is(err, failed) || errors.Is(err, ErrReclaimed) != (onReclaim == Cancel) || call.Explain(nil) != nil {
				t.Errorf("onReclaim %d: %v", onReclaim, err)
			}
			call.End()
			if c := b.Stats().Counts; c.Lapsed != 1 || c.LateReleases != 1 {
				t.Errorf("counts %+v", c)
			}
		})
	}
}

func TestBeginOnNoBulkhead(t *testing.T) {
	var none *Bulkhead
	call, err := none.Begin(t.Context())
	if err != nil || call.Context().Err() != nil || call.Explain(ErrPending) != ErrPending { //nolint:errorlint // as it is
		t.Errorf("%v", err)
	}
	call.End()
	if call.Context().Err() == nil {
		t.Error("the context outlives the call")
	}
}

func TestBeginAllocatesOnce(t *testing.T) {
	b, call := ongoing(t, time.Minute)
	call.End()
	if n := testing.AllocsPerRun(100, func() {
		c, _ := b.Begin(t.Context())
		c.End()
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

func TestEndOfARefusedCallDoesNothing(t *testing.T) {
	b, _ := ongoing(t, time.Minute)
	call, err := b.Begin(t.Context())
	defer call.End()
	if !errors.Is(err, ErrSaturated) {
		t.Error(err)
	}
}
