// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/sony/gobreaker/v2"

	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// saturated returns a bulkhead whose only slot is held.
func saturated(t *testing.T) *limiter.Bulkhead {
	t.Helper()
	b, err := limiter.New("payments", 1, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := b.TryAcquire(); !ok {
		t.Fatal("no slot")
	}
	return b
}

// Saturation is our backpressure, not the service's failure: with two lines, a
// circuit breaker and a retry policy of failsafe-go pass it by.
func TestSaturationPassesByFailsafe(t *testing.T) {
	payments, calls := saturated(t), 0
	breaker := circuitbreaker.NewBuilder[any]().
		HandleIf(func(_ any, err error) bool { return err != nil && !errors.Is(err, limiter.ErrSaturated) }).
		WithFailureThreshold(1).Build()
	retries := retrypolicy.NewBuilder[any]().AbortOnErrors(limiter.ErrSaturated).WithMaxRetries(5).Build()
	for range 10 {
		err := failsafe.With(retries, breaker).Run(func() error {
			calls++
			return payments.Do(t.Context(), func(context.Context) error { return nil })
		})
		if !errors.Is(err, limiter.ErrSaturated) {
			t.Errorf("error %v, want saturated", err)
		}
	}
	if calls != 10 || !breaker.IsClosed() {
		t.Errorf("%d calls for 10, breaker %v; want no retry, and closed", calls, breaker.State())
	}
	broken := errors.New("broken")
	_ = failsafe.With(breaker).Run(func() error { return broken })
	if !breaker.IsOpen() {
		t.Error("a failure of the service no longer opens the breaker")
	}
}

// The same with one line of gobreaker.
func TestSaturationPassesByGobreaker(t *testing.T) {
	payments := saturated(t)
	breaker := gobreaker.NewCircuitBreaker[any](gobreaker.Settings{
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.TotalFailures > 0 },
		IsExcluded:  func(err error) bool { return errors.Is(err, limiter.ErrSaturated) },
	})
	call := func(run func(context.Context) error) error {
		_, err := breaker.Execute(func() (any, error) { return nil, payments.Do(t.Context(), run) })
		return err
	}
	for range 10 {
		if err := call(func(context.Context) error { return nil }); !errors.Is(err, limiter.ErrSaturated) {
			t.Errorf("error %v, want saturated", err)
		}
	}
	if s := breaker.State(); s != gobreaker.StateClosed || breaker.Counts().TotalFailures != 0 {
		t.Errorf("breaker %v, counts %+v; want closed and no failure", s, breaker.Counts())
	}
	payments.Reset()
	_ = call(func(context.Context) error { return errors.New("broken") })
	if breaker.State() != gobreaker.StateOpen {
		t.Error("a failure of the service no longer opens the breaker")
	}
}
