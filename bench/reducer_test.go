// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

const (
	active = 8
	queue  = 1000
)

// BenchmarkReducer runs short tasks, 8 at a time, and waits for every outcome. The
// peer is a pool of 8 workers with a channel as its queue, which delivers futures
// and recovers panics as well.
func BenchmarkReducer(b *testing.B) {
	b.Run("impl=pool", func(b *testing.B) {
		b.ReportAllocs()
		p := newPool()
		defer p.close()
		submitAll(b, func(task func(context.Context) (int, error)) func() {
			f := p.submit(task)
			return func() { <-f.done }
		})
	})
	b.Run("impl=servicebulkhead", func(b *testing.B) {
		b.ReportAllocs()
		l, err := limiter.New("bench", active, time.Minute, limiter.WithQueue(queue, 0))
		must(err)
		r := limiter.NewReducer[int](l)
		submitAll(b, func(task func(context.Context) (int, error)) func() {
			f := r.Submit(context.Background(), task)
			return func() { <-f.Done() }
		})
	})
}

// submitAll keeps the queue filled, and no fuller than it may be.
func submitAll(b *testing.B, submit func(func(context.Context) (int, error)) func()) {
	var pending [queue]func()
	task := func(context.Context) (int, error) { return 42, nil }
	for i := range b.N {
		if wait := pending[i%queue]; wait != nil {
			wait()
		}
		pending[i%queue] = submit(task)
	}
	for _, wait := range pending {
		if wait != nil {
			wait()
		}
	}
}

type pool struct {
	tasks   chan *future
	workers sync.WaitGroup
}

type future struct {
	task  func(context.Context) (int, error)
	value int
	err   error
	done  chan struct{}
}

func newPool() *pool {
	p := &pool{tasks: make(chan *future, queue)}
	for range active {
		p.workers.Go(func() {
			for f := range p.tasks {
				f.run()
			}
		})
	}
	return p
}

func (p *pool) submit(task func(context.Context) (int, error)) *future {
	f := &future{task: task, done: make(chan struct{})}
	p.tasks <- f
	return f
}

func (p *pool) close() {
	close(p.tasks)
	p.workers.Wait()
}

func (f *future) run() {
	defer close(f.done)
	defer func() {
		if v := recover(); v != nil {
			f.err = fmt.Errorf("task panicked: %v", v)
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f.value, f.err = f.task(ctx)
}
