// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limiter caps how many calls to one service are in flight at once.
//
//	payments, err := limiter.New("payments", 25, 30*time.Second, limiter.WithMaxWait(50*time.Millisecond))
//	…
//	err = payments.Do(ctx, func(ctx context.Context) error { return charge(ctx) })
//	if errors.Is(err, limiter.ErrSaturated) {
//		// our own backpressure, not the service's failure: answer 503, serve something stale
//	}
//
// A call occupies a slot from its admission until its release. When every slot
// is held, a call waits in line for at most the wait budget, first come, first
// served, and is then refused with a *SaturatedError. Waiting calls hold no slot.
//
// A slot that is held for longer than reclaimAfter lapses: it counts as
// abandoned and is free again. A goroutine cannot be killed, so its call is
// nearly always still running; Do and Call therefore end the call's context at
// that moment, with ErrReclaimed as its cause. The release of a lapsed call
// changes nothing and says that it came late.
//
// Everything can change while calls are in flight (Configure), nothing needs a
// goroutine or a supervisor, and a nil *Bulkhead lets every call through.
//
// The package does not count failures (a circuit breaker does), does not bound
// how often calls start (a rate limiter does), does not retry, and knows nothing
// of Kubernetes.
package limiter
