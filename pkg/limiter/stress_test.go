// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// stress is one bulkhead, and everything that can be done to it, at once.
type stress struct {
	t     *testing.T
	b     *Bulkhead
	r     Reducer[int]
	asked atomic.Int64
	// window is the usual one; reset lets some rounds forget everybody.
	window time.Duration
	reset  bool
}

// Everything at once, in every mode, with changes, resets and lapses: at rest the
// bulkhead is as new.
func TestEverythingInEveryMode(t *testing.T) {
	for round := range 24 {
		window := []time.Duration{time.Hour, 2 * time.Millisecond, Forever}[round%3]
		s := newStress(t, window, round%2 == 0)
		s.run(8, 200)
	}
}

// The same, a million times by 64 goroutines; then the end: a drain that finds
// nothing running, and nothing admitted after it.
func TestAMillionOperations(t *testing.T) {
	s := newStress(t, 2*time.Millisecond, true)
	s.run(64, 1_000_000/64)
	if remain := s.b.Drain(t.Context()); remain != nil {
		t.Errorf("remaining: %+v", remain)
	}
	s.b.Close()
	if _, err := s.b.Acquire(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("acquire after close: %v", err)
	}
}

func newStress(t *testing.T, window time.Duration, reset bool) *stress {
	s := &stress{t: t, window: window, reset: reset}
	s.b = mustNew(t, 3, window, WithQueue(4, 2), WithMaxWait(100*time.Microsecond))
	s.r = NewReducer[int](s.b)
	return s
}

// run lets that many goroutines ask so many times each, while everything changes.
func (s *stress) run(goroutines, times int) {
	var asking, all sync.WaitGroup
	for range goroutines {
		asking.Go(func() {
			for range times {
				s.ask()
			}
		})
	}
	done := make(chan struct{})
	all.Go(func() { s.change(done) })
	asking.Wait()
	close(done)
	all.Wait()
	s.settle()
}

// ask is one call or task, of any kind.
func (s *stress) ask() {
	s.asked.Add(1)
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Duration(rand.IntN(300))*time.Microsecond)
	defer cancel()
	switch rand.IntN(5) {
	case 0:
		if p, ok := s.b.TryAcquire(); ok {
			runtime.Gosched()
			p.Release()
			if rand.IntN(4) == 0 {
				p.Release()
			}
		}
	case 1:
		if p, err := s.b.Acquire(ctx); err == nil {
			if rand.IntN(20) == 0 && s.window < time.Second {
				<-time.After(3 * time.Millisecond) // let it lapse
			}
			p.Release()
		}
	case 2:
		_ = s.b.Do(ctx, func(context.Context) error { runtime.Gosched(); return nil })
	default:
		f := s.r.Submit(ctx, func(context.Context) (int, error) {
			runtime.Gosched()
			if rand.IntN(30) == 0 {
				runtime.Goexit()
			}
			return 1, nil
		})
		if rand.IntN(3) == 0 {
			f.Cancel()
		}
		<-f.Done()
	}
}

// change changes everything, over and over, and leaves it as it was.
func (s *stress) change(done <-chan struct{}) {
	for range time.Tick(100 * time.Microsecond) {
		select {
		case <-done:
			configure(s.t, s.b, 3, s.window, WithQueue(4, 2), WithMaxWait(100*time.Microsecond))
			return
		default:
		}
		window := s.window
		if window != Forever {
			window += time.Duration(rand.IntN(3)) * time.Millisecond
		}
		configure(s.t, s.b, rand.IntN(6), window, WithQueue(4, rand.IntN(3)),
			WithMaxWait(100*time.Microsecond), WithMode(Mode(rand.IntN(4))))
		if s.reset && rand.IntN(4) == 0 {
			s.b.Reset()
		}
	}
}

// settle checks that nothing is left of what was.
func (s *stress) settle() {
	s.t.Helper()
	b, st := s.b, s.b.Stats()
	if st.InFlight+st.Overdue+st.Unlimited+st.Waiting+st.Tasks.Active+st.Tasks.Queued+b.tasks.holding+b.tasks.inLine != 0 {
		s.t.Errorf("at rest: %+v, holding %d, in line %d", st, b.tasks.holding, b.tasks.inLine)
	}
	if got := b.gate.Load() & (waiting | debt | guarded); got != 0 {
		s.t.Errorf("flags at rest: %x", got)
	}
	if got := int64(st.Counts.Asked()); got != s.asked.Load() {
		s.t.Errorf("%d answers to %d: %+v", got, s.asked.Load(), st.Counts)
	}
	release(take(s.t, b, 3))
	seen := map[*slot]bool{}
	for x := b.extras.unused; x != nil; x = x.extra.next {
		if seen[x] {
			s.t.Fatal("the list of unused records is a cycle")
		}
		seen[x] = true
	}
}
