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

// Saturation is our backpressure: with the breaker inside the bulkhead it never gets
// there, and with one line the retry policy stops at it.
func TestSaturationPassesByFailsafe(t *testing.T) {
	payments := saturated(t)
	breaker := circuitbreaker.NewBuilder[any]().WithFailureThreshold(1).WithDelay(time.Nanosecond).Build()
	retries := retrypolicy.NewBuilder[any]().AbortOnErrors(limiter.ErrSaturated).WithMaxRetries(5).Build()
	attempts := 0
	call := func(charge func() error) error {
		return failsafe.With(retries).Run(func() error {
			attempts++
			return payments.Do(t.Context(), func(context.Context) error { return failsafe.With(breaker).Run(charge) })
		})
	}
	refused := func() {
		t.Helper()
		attempts = 0
		state := breaker.State()
		if err := call(func() error { return nil }); !errors.Is(err, limiter.ErrSaturated) {
			t.Errorf("error %v, want saturated", err)
		}
		if attempts != 1 || breaker.State() != state {
			t.Errorf("%d attempts, breaker %v, then %v; want one, and no change", attempts, state, breaker.State())
		}
	}
	refused()
	breaker.HalfOpen()
	refused()
	breaker.Close()

	payments.Reset()
	_ = failsafe.With(breaker).Run(func() error { return errors.New("broken") })
	if breaker.IsClosed() {
		t.Error("a failure of the service no longer opens the breaker")
	}
}

func TestSaturationPassesByGobreaker(t *testing.T) {
	for name, settings := range map[string]gobreaker.Settings{
		"inside the bulkhead":  {},
		"outside, with a line": {IsExcluded: func(err error) bool { return errors.Is(err, limiter.ErrSaturated) }},
	} {
		t.Run(name, func(t *testing.T) {
			payments := saturated(t)
			settings.ReadyToTrip = func(c gobreaker.Counts) bool { return c.TotalFailures > 0 }
			breaker := gobreaker.NewCircuitBreaker[any](settings)
			guarded := func(run func() error) error {
				_, err := breaker.Execute(func() (any, error) { return nil, run() })
				return err
			}
			call := func(charge func() error) error {
				if settings.IsExcluded != nil {
					return guarded(func() error { return payments.Do(t.Context(), func(context.Context) error { return charge() }) })
				}
				return payments.Do(t.Context(), func(context.Context) error { return guarded(charge) })
			}
			for range 10 {
				if err := call(func() error { return nil }); !errors.Is(err, limiter.ErrSaturated) {
					t.Errorf("error %v, want saturated", err)
				}
			}
			if s, c := breaker.State(), breaker.Counts(); s != gobreaker.StateClosed || c.TotalFailures != 0 || c.TotalSuccesses != 0 {
				t.Errorf("breaker %v, counts %+v; want closed, and neither failure nor success", s, c)
			}
			payments.Reset()
			_ = call(func() error { return errors.New("broken") })
			if breaker.State() != gobreaker.StateOpen {
				t.Error("a failure of the service no longer opens the breaker")
			}
		})
	}
}
