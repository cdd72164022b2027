// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"time"

	"github.com/eapache/go-resiliency/semaphore"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	xsync "golang.org/x/sync/semaphore"

	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// subject is one implementation at one limit.
type subject struct {
	name string
	// cycle takes a slot without waiting and gives it back; false means refused.
	cycle func() bool
	// hold takes a slot, waiting for budget at most if it must, and returns how to
	// give it back. Who has no budget of its own is given a context with a deadline.
	hold func(context.Context) (release func())
}

const budget = time.Second

// subjects are the limiter and its peers. x/sync comes first: ratios are to it.
func subjects(limit int) []subject {
	return []subject{ofXSync(limit), ofLimiter(limit), ofChannel(limit), ofFailsafe(limit), ofResiliency(limit)}
}

func ofXSync(limit int) subject {
	s := xsync.NewWeighted(int64(limit))
	release := func() { s.Release(1) }
	return subject{
		name: "x-sync",
		cycle: func() bool {
			ok := s.TryAcquire(1)
			if ok {
				s.Release(1)
			}
			return ok
		},
		hold: func(ctx context.Context) func() {
			ctx, cancel := context.WithTimeout(ctx, budget)
			defer cancel()
			must(s.Acquire(ctx, 1))
			return release
		},
	}
}

func ofLimiter(limit int) subject {
	b, err := limiter.New("bench", limit, time.Minute, limiter.WithMaxWait(budget))
	must(err)
	return subject{
		name: "servicebulkhead",
		cycle: func() bool {
			p, ok := b.TryAcquire()
			if ok {
				p.Release()
			}
			return ok
		},
		hold: func(ctx context.Context) func() {
			p, err := b.Acquire(ctx)
			must(err)
			return func() { p.Release() }
		},
	}
}

func ofChannel(limit int) subject {
	slots := make(chan struct{}, limit)
	release := func() { <-slots }
	return subject{
		name: "channel",
		cycle: func() bool {
			select {
			case slots <- struct{}{}:
				<-slots
				return true
			default:
				return false
			}
		},
		hold: func(ctx context.Context) func() {
			ctx, cancel := context.WithTimeout(ctx, budget)
			defer cancel()
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				panic(ctx.Err())
			}
			return release
		},
	}
}

func ofFailsafe(limit int) subject {
	b := bulkhead.NewBuilder[any](uint(limit)).WithMaxWaitTime(budget).Build()
	return subject{
		name: "failsafe-go",
		cycle: func() bool {
			ok := b.TryAcquirePermit()
			if ok {
				b.ReleasePermit()
			}
			return ok
		},
		hold: func(ctx context.Context) func() { must(b.AcquirePermit(ctx)); return b.ReleasePermit },
	}
}

func ofResiliency(limit int) subject {
	try, wait := semaphore.New(limit, 0), semaphore.New(limit, budget)
	return subject{
		name: "go-resiliency",
		cycle: func() bool {
			ok := try.Acquire() == nil
			if ok {
				try.Release()
			}
			return ok
		},
		hold: func(context.Context) func() { must(wait.Acquire()); return wait.Release },
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
