// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// blocked returns a task that waits for the channel or its context.
func blocked(until <-chan struct{}) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		select {
		case <-until:
			return 1, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func quick(context.Context) (int, error) { return 42, nil }

func wantOutcome(t *testing.T, f *Future[int], value int, err error) {
	t.Helper()
	got, gotErr := f.Wait(t.Context())
	if got != value || !errors.Is(gotErr, err) {
		t.Errorf("outcome %d, %v; want %d, %v", got, gotErr, value, err)
	}
}

func TestTwentyTasksFitIntoTenAndTen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 10, time.Hour, WithQueue(10, 0))
		r := NewReducer[int](b)
		until := make(chan struct{})
		var futures []*Future[int]
		for range 20 {
			futures = append(futures, r.Submit(t.Context(), blocked(until)))
		}
		wantOutcome(t, r.Submit(t.Context(), quick), 0, ErrQueueFull)
		want := TaskStats{Active: 10, Queued: 10, Capacity: 10}
		if got := b.Stats().Tasks; got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if _, err := futures[0].Result(); err != ErrPending { //nolint:errorlint // as it is
			t.Errorf("result of a running task: %v, want pending", err)
		}
		close(until)
		for _, f := range futures {
			wantOutcome(t, f, 1, nil)
		}
		synctest.Wait()
		s := b.Stats()
		if s.Tasks.Active != 0 || s.Tasks.Queued != 0 || s.Tasks.RemainingActive != 10 || s.Tasks.RemainingQueue != 10 || s.InFlight != 0 {
			t.Errorf("at rest: %+v, in flight %d", s.Tasks, s.InFlight)
		}
		if s.Counts.Asked() != 21 || s.Counts.QueueFull != 1 || s.Counts.TasksDone != 20 {
			t.Errorf("counts %+v", s.Counts)
		}
	})
}

func TestOutcomes(t *testing.T) {
	broken := errors.New("broken")
	b := mustNew(t, 1, time.Hour, WithQueue(1, 0))
	r := NewReducer[int](b)
	wantOutcome(t, r.Submit(t.Context(), quick), 42, nil)
	wantOutcome(t, r.Submit(t.Context(), nil), 0, ErrNilTask)
	wantOutcome(t, r.Submit(t.Context(), func(context.Context) (int, error) { return 7, broken }), 7, broken)
	wantOutcome(t, r.Submit(t.Context(), func(context.Context) (int, error) { panic(broken) }), 0, broken)
	wantOutcome(t, r.Submit(t.Context(), func(context.Context) (int, error) { runtime.Goexit(); return 0, nil }), 0, ErrGoexit)

	_, err := r.Submit(t.Context(), func(context.Context) (int, error) { panic("boom") }).Wait(t.Context())
	var p *PanicError
	if !errors.As(err, &p) || p.Value != "boom" || !strings.Contains(string(p.Stack), "TestOutcomes") || err.Error() != "task panicked: boom" {
		t.Errorf("panic: %v", err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	wantOutcome(t, r.Submit(done, quick), 0, context.Canceled)
	if s := b.Stats(); s.InFlight != 0 || s.Counts.TaskFailures != 4 || s.Counts.TasksDone != 5 || s.Counts.Cancelled != 1 {
		t.Errorf("in flight %d, counts %+v", s.InFlight, s.Counts)
	}
}

func TestGoexitDoesNotStopTheNextTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewReducer[int](mustNew(t, 1, time.Hour, WithQueue(1, 0)))
		until := make(chan struct{})
		r.Submit(t.Context(), func(context.Context) (int, error) { <-until; runtime.Goexit(); return 0, nil })
		next := r.Submit(t.Context(), quick)
		close(until)
		wantOutcome(t, next, 42, nil)
	})
}

func TestCancelledTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, Forever, WithQueue(2, 0)) // no lapse may cancel anything
		r := NewReducer[int](b)
		until := make(chan struct{})
		defer close(until)
		running := r.Submit(t.Context(), blocked(until))
		never := func(context.Context) (int, error) { t.Error("a cancelled task started"); return 0, nil }
		queued := r.Submit(t.Context(), never)
		why := errors.New("the client went away")
		ctx, cancel := context.WithCancelCause(t.Context())
		another := r.Submit(ctx, never)
		queued.Cancel()
		wantOutcome(t, queued, 0, context.Canceled)
		cancel(why)
		wantOutcome(t, another, 0, why)
		if s := b.Stats().Tasks; s.Queued != 0 || s.RemainingQueue != 2 {
			t.Errorf("%+v: places of cancelled tasks are not free", s)
		}
		running.Cancel()
		wantOutcome(t, running, 0, context.Canceled)
		running.Cancel()
		queued.Cancel()
		wantOutcome(t, r.Submit(t.Context(), quick), 42, nil)
		if c := b.Stats().Counts; c.Cancelled != 2 || c.Asked() != 4 {
			t.Errorf("counts %+v", c)
		}
	})
}

func TestWaitEndsWithItsContextAndTheTaskGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewReducer[int](mustNew(t, 1, time.Hour, WithQueue(1, 0)))
		until := make(chan struct{})
		f := r.Submit(t.Context(), blocked(until))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait: %v", err)
		}
		close(until)
		<-f.Done()
		if v, err := f.Result(); v != 1 || err != nil {
			t.Errorf("result: %d, %v", v, err)
		}
	})
}

func TestTasksAndCallersShareTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 3, time.Hour, WithQueue(10, 2), WithMaxWait(time.Minute))
		r := NewReducer[int](b)
		until := make(chan struct{})
		var futures []*Future[int]
		for range 4 {
			futures = append(futures, r.Submit(t.Context(), blocked(until)))
		}
		if s := b.Stats(); s.InFlight != 2 || s.Tasks.Active != 2 || s.Tasks.Queued != 2 {
			t.Errorf("in flight %d, %+v; want tasks to use 2 slots", s.InFlight, s.Tasks)
		}
		take(t, b, 1) // queued tasks that have no room of their own block nobody
		if _, ok := b.TryAcquire(); ok {
			t.Error("a fourth call was admitted at a limit of 3")
		}
		configure(t, b, 4, time.Hour, WithQueue(10, 3))
		if s := b.Stats(); s.Tasks.Active != 3 {
			t.Errorf("active %d after maxConcurrency was raised to 3, without any other event", s.Tasks.Active)
		}
		close(until)
		for _, f := range futures {
			wantOutcome(t, f, 1, nil)
		}
	})
}

// With a slot free and a task queued, the task runs without any further event:
// also when the slot was freed by a caller, or by a lapse.
func TestQueuedTaskRunsWhenASlotIsFree(t *testing.T) {
	for name, free := range map[string]func(Permit){
		"release": func(p Permit) { p.Release() },
		"lapse":   func(Permit) { time.Sleep(longest(time.Minute)) },
		"reset":   func(p Permit) { p.slot.owner.Reset() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := mustNew(t, 1, time.Minute, WithQueue(1, 0))
				p := take(t, b, 1)[0]
				f := NewReducer[int](b).Submit(t.Context(), quick)
				free(p)
				wantOutcome(t, f, 42, nil)
			})
		})
	}
}

// L12, Netflix/Hystrix#1867: a task that ignores its time-out keeps its slot until
// it ends or the window passes; then the next one runs, beside it.
func TestL12TaskThatIgnoresItsTimeoutKeepsItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, 1, time.Minute, WithQueue(1, 0))
		r := NewReducer[int](b)
		until := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		deaf := r.Submit(ctx, func(context.Context) (int, error) { <-until; return 1, nil })
		time.Sleep(time.Second)
		if _, ok := b.TryAcquire(); ok {
			t.Error("a second call was admitted beside the first")
		}
		next := r.Submit(t.Context(), quick)
		begin := time.Now()
		wantOutcome(t, next, 42, nil)
		if waited := time.Since(begin); waited < time.Minute-time.Second {
			t.Errorf("the next task ran after %v, before the window had passed", waited)
		}
		if s := b.Stats(); s.Tasks.Active != 1 || s.Overdue != 1 {
			t.Errorf("active %d, overdue %d; want the lapsed task counted as both", s.Tasks.Active, s.Overdue)
		}
		close(until)
		wantOutcome(t, deaf, 1, nil)
	})
}

// L28, sindresorhus/p-limit#25: closing fails what is queued, and lets what runs
// complete.
func TestL28CloseFailsTheQueued(t *testing.T) {
	for reason, end := range map[error]func(*Bulkhead){
		ErrClosed: (*Bulkhead).Close, ErrDraining: func(b *Bulkhead) { b.StopAdmission() },
	} {
		synctest.Test(t, func(t *testing.T) {
			b := mustNew(t, 1, time.Hour, WithQueue(3, 0))
			r := NewReducer[int](b)
			until := make(chan struct{})
			running := r.Submit(t.Context(), blocked(until))
			queued := []*Future[int]{r.Submit(t.Context(), quick), r.Submit(t.Context(), quick), r.Submit(t.Context(), quick)}
			end(b)
			for _, f := range queued {
				wantOutcome(t, f, 0, reason)
			}
			wantOutcome(t, r.Submit(t.Context(), quick), 0, reason)
			close(until)
			wantOutcome(t, running, 1, nil)
			configure(t, b, 100, time.Hour, WithQueue(3, 0))
			wantOutcome(t, r.Submit(t.Context(), quick), 0, reason)
		})
	}
}

func TestTaskModes(t *testing.T) {
	t.Run("without a queue a task that finds no room is refused", func(t *testing.T) {
		b := mustNew(t, 1, time.Hour)
		r := NewReducer[int](b)
		wantOutcome(t, r.Submit(t.Context(), quick), 42, nil)
		take(t, b, 1)
		wantOutcome(t, r.Submit(t.Context(), quick), 0, ErrQueueFull)
	})
	t.Run("Shadow runs every task at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := mustNew(t, 1, time.Hour, WithQueue(1, 0), WithMode(Shadow))
			r := NewReducer[int](b)
			until := make(chan struct{})
			for range 5 {
				r.Submit(t.Context(), blocked(until))
			}
			if s := b.Stats(); s.Tasks.Active != 5 || s.InFlight != 1 || s.Counts.Shadowed != 4 {
				t.Errorf("active %d, in flight %d, shadowed %d; want 5, 1, 4", s.Tasks.Active, s.InFlight, s.Counts.Shadowed)
			}
			close(until)
			synctest.Wait()
			if s := b.Stats(); s.Tasks.Active != 0 || s.InFlight != 0 || s.Unlimited != 0 {
				t.Errorf("at rest: %+v", s)
			}
		})
	})
	t.Run("Refuse refuses", func(t *testing.T) {
		r := NewReducer[int](mustNew(t, 1, time.Hour, WithQueue(1, 0), WithMode(Refuse)))
		wantOutcome(t, r.Submit(t.Context(), quick), 0, ErrRefused)
	})
	t.Run("limit 0 lets tasks wait for a higher one", func(t *testing.T) {
		b := mustNew(t, 0, time.Hour, WithQueue(1, 0))
		f := NewReducer[int](b).Submit(t.Context(), quick)
		configure(t, b, 1, time.Hour, WithQueue(1, 0))
		wantOutcome(t, f, 42, nil)
	})
	t.Run("no bulkhead runs every task", func(t *testing.T) {
		r := NewReducer[int](nil)
		wantOutcome(t, r.Submit(t.Context(), quick), 42, nil)
		f := r.Submit(t.Context(), func(context.Context) (int, error) { runtime.Goexit(); return 0, nil })
		f.Cancel()
		wantOutcome(t, f, 0, ErrGoexit)
	})
}

func TestTasksOfAllKindsAtOnce(t *testing.T) {
	const workers, rounds = 16, 500
	b := mustNew(t, 4, time.Hour, WithQueue(8, 3), WithMaxWait(50*time.Microsecond))
	r := NewReducer[int](b)
	var running, peak, settled atomic.Int64
	task := func(context.Context) (int, error) {
		raise(&peak, running.Add(1))
		runtime.Gosched()
		running.Add(-1)
		return 42, nil
	}
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := range rounds {
				f := r.Submit(t.Context(), task)
				if i%5 == 0 {
					f.Cancel()
				}
				if p, err := b.Acquire(t.Context()); err == nil {
					p.Release()
				}
				<-f.Done()
				settled.Add(1)
			}
		})
	}
	all.Go(func() {
		for i := range 200 {
			configure(t, b, 4+i%3, time.Hour, WithQueue(8, 3), WithMaxWait(50*time.Microsecond))
			runtime.Gosched()
		}
	})
	all.Wait()
	if n := peak.Load(); n > 3 {
		t.Errorf("%d tasks ran at once, want at most 3", n)
	}
	s := b.Stats()
	if settled.Load() != workers*rounds || s.Counts.Asked() != 2*workers*rounds {
		t.Errorf("settled %d of %d, answers %d of %d", settled.Load(), workers*rounds, s.Counts.Asked(), 2*workers*rounds)
	}
	if s.InFlight != 0 || s.Waiting != 0 || s.Tasks.Active != 0 || s.Tasks.Queued != 0 || s.Overdue != 0 {
		t.Errorf("at rest: %+v", s)
	}
}
