// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// One line around a call.
func ExampleBulkhead_Do() {
	payments, err := limiter.New("payments", 25, 30*time.Second, limiter.WithMaxWait(50*time.Millisecond))
	if err != nil {
		fmt.Println(err)
		return
	}
	err = payments.Do(context.Background(), func(context.Context) error {
		fmt.Println("in flight:", payments.InFlight())
		return nil
	})
	fmt.Println(err, payments.InFlight())
	// Output:
	// in flight: 1
	// <nil> 0
}

// A call that finds every slot held is refused with what the refusal saw.
func ExampleSaturatedError() {
	payments, _ := limiter.New("payments", 1, 30*time.Second)
	permit, _ := payments.TryAcquire()
	defer permit.Release()

	_, err := payments.Acquire(context.Background())
	if saturated, ok := errors.AsType[*limiter.SaturatedError](err); ok {
		fmt.Printf("%s: %d of %d\n", saturated.Service, saturated.InFlight, saturated.Limit)
	}
	// Output:
	// payments: 1 of 1
}

// A permit by hand, where one function around the call does not fit.
func ExampleBulkhead_TryAcquire() {
	search, _ := limiter.New("search", 2, time.Minute)
	permit, ok := search.TryAcquire()
	if !ok {
		return
	}
	fmt.Println(permit.Release())
	fmt.Println(permit.Release())
	// Output:
	// released
	// stale
}

// A call that returns a value.
func ExampleCall() {
	search, _ := limiter.New("search", 2, time.Minute)
	hits, err := limiter.Call(context.Background(), search, func(context.Context) (int, error) { return 42, nil })
	fmt.Println(hits, err)
	// Output:
	// 42 <nil>
}

// Work that can wait is queued, and its outcome comes as a future.
func ExampleReducer() {
	mail, _ := limiter.New("mail", 2, time.Minute, limiter.WithQueue(10, 0))
	mails := limiter.NewReducer[string](mail)
	future := mails.Submit(context.Background(), func(context.Context) (string, error) { return "sent", nil })
	receipt, err := future.Wait(context.Background())
	fmt.Println(receipt, err)

	mail.Close()
	_, err = mails.Submit(context.Background(), func(context.Context) (string, error) { return "sent", nil }).Wait(context.Background())
	fmt.Println(err)
	// Output:
	// sent <nil>
	// bulkhead "mail": closed
}
