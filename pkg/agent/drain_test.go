// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// bare returns an agent without a directory to watch, so that it can live under
// the virtual clock.
func bare(t *testing.T, services map[string]bulkheadconfig.Service, options ...Option) *Agent {
	t.Helper()
	quietLog := slog.New(slog.NewTextHandler(io.Discard, nil))
	s, err := newSettings("nowhere", append([]Option{WithLogger(quietLog)}, options...))
	must(t, err)
	r := newRegistry(s)
	r.apply(bulkheadconfig.Document{Services: services})
	return &Agent{registry: r, source: &source{dir: "nowhere"}, drain: newDrain(r, s), stopWatching: func() {}}
}

func two() map[string]bulkheadconfig.Service {
	return map[string]bulkheadconfig.Service{
		"payments": {Limit: 2, MaxWait: time.Minute, ReclaimAfter: time.Hour},
		"search":   {Limit: 2, ReclaimAfter: 8 * time.Second, DrainTimeout: new(2 * time.Second)},
	}
}

func TestDrainInFourSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := bare(t, two(), WithLameDuck(3*time.Second), WithDrainTimeout(20*time.Second))
		var closed []string
		for _, name := range []string{"pool", "client", "cache"} {
			must(t, a.CloseOnShutdown(name, closerFunc(func() error { closed = append(closed, name); return nil })))
		}
		payments, search := a.Bulkhead("payments"), a.Bulkhead("search")
		a.OnStop("server", func(context.Context) error {
			time.Sleep(time.Second)
			if p, ok := search.TryAcquire(); !ok {
				t.Error("a call of work that was accepted before is refused while producers stop")
			} else {
				p.Release()
			}
			return nil
		})
		over := make(chan struct{})
		defer close(over)
		hang := func(b *limiter.Bulkhead, d time.Duration) {
			go func() {
				_ = b.Do(t.Context(), func(context.Context) error {
					select {
					case <-time.After(d):
					case <-over:
					}
					return nil
				})
			}()
			synctest.Wait()
		}
		hang(payments, 10*time.Second)
		hang(payments, time.Minute)
		hang(search, time.Minute) // also outlives the service's own drain time-out
		waiting := make(chan error, 1)
		go func() { _, err := payments.Acquire(t.Context()); waiting <- err }()

		report, err := a.Shutdown(t.Context())
		must(t, err)
		if err := <-waiting; !errors.Is(err, limiter.ErrDraining) {
			t.Errorf("waiting call: %v, want draining", err)
		}
		if err := payments.Do(t.Context(), nil); !errors.Is(err, limiter.ErrDraining) {
			t.Errorf("new call: %v, want draining", err)
		}
		if err := a.Bulkhead("later").Do(t.Context(), nil); !errors.Is(err, limiter.ErrDraining) {
			t.Errorf("call to a service first asked for now: %v, want draining", err)
		}
		if !slices.Equal(closed, []string{"cache", "client", "pool"}) {
			t.Errorf("closed %q, want the reverse of the registration", closed)
		}
		want := Report{
			LameDuck: 3 * time.Second, Producers: time.Second, Running: 19 * time.Second, Closed: 3,
			Services: []ServiceReport{
				{Service: "payments", LetGo: 1, Finished: 1, Remaining: []limiter.Running{{Age: 23 * time.Second}}},
				{Service: "search", Finished: 1, Remaining: []limiter.Running{{Age: 6 * time.Second}}},
			},
		}
		if got := report.String(); got != want.String() {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if report.Finished() != 2 || report.Remaining() != 2 || report.LetGo() != 1 || report.Total() != 23*time.Second {
			t.Errorf("finished %d, remaining %d, let go %d, total %v", report.Finished(), report.Remaining(), report.LetGo(), report.Total())
		}
		again, _ := a.Shutdown(t.Context())
		if again.String() != report.String() || len(closed) != 3 {
			t.Error("a second Shutdown did something")
		}
	})
}

func TestNotReadyFromTheFirstMomentAndStillServing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := bare(t, two(), WithLameDuck(3*time.Second))
		status := func() int {
			w := httptest.NewRecorder()
			a.ReadyHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
			return w.Code
		}
		if got := status(); got != 200 || !a.Ready() {
			t.Errorf("before: %d, want 200", got)
		}
		done := make(chan struct{})
		go func() { defer close(done); _, _ = a.Shutdown(t.Context()) }()
		time.Sleep(2 * time.Second)
		if got := status(); got != 503 || a.Ready() {
			t.Errorf("during the lame duck time: %d, want 503", got)
		}
		if err := a.Bulkhead("payments").Do(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Errorf("call during the lame duck time: %v", err)
		}
		<-done
	})
}

func TestEndOfTheContextCutsADrainShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := bare(t, two(), WithLameDuck(time.Hour))
		closed := false
		must(t, a.CloseOnShutdown("pool", closerFunc(func() error { closed = true; return nil })))
		a.OnStop("server", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		a.Bulkhead("payments").TryAcquire()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		report, err := a.Shutdown(ctx)
		if report.Total() != time.Second || report.Remaining() != 1 || !closed {
			t.Errorf("took %v, remaining %d, dependency closed: %t; want 1s, 1, true", report.Total(), report.Remaining(), closed)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the producer's", err)
		}
	})
}

func TestCancelRemainingEndsContextsAtTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := bare(t, two(), WithLameDuck(0), WithDrainTimeout(time.Second), WithCancelRemaining())
		call := make(chan error, 1)
		go func() {
			call <- a.Bulkhead("payments").Do(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		}()
		synctest.Wait()
		if report, _ := a.Shutdown(t.Context()); report.Remaining() != 1 {
			t.Errorf("remaining %d, want 1", report.Remaining())
		}
		if err := <-call; !errors.Is(err, limiter.ErrDraining) {
			t.Errorf("call: %v, want draining", err)
		}
	})
}

func TestASecondSignalCutsTheDrainShort(t *testing.T) {
	a, log := start(t, t.TempDir(), WithLameDuck(time.Hour))
	// Listening here as well keeps the signal from ending this process.
	mine := make(chan os.Signal, 100)
	signal.Notify(mine, syscall.SIGUSR1)
	defer signal.Stop(mine)
	done := make(chan Report, 1)
	go func() {
		report, _ := a.ShutdownOnSignal(t.Context(), syscall.SIGUSR1)
		done <- report
	}()
	for a.Ready() { // a signal that comes before ShutdownOnSignal listens is lost: send again
		must(t, syscall.Kill(os.Getpid(), syscall.SIGUSR1))
		<-mine
		runtime.Gosched()
	}
	log.expect(t, "drain begins")
	must(t, syscall.Kill(os.Getpid(), syscall.SIGUSR1))
	if report := <-done; report.LameDuck >= time.Hour {
		t.Errorf("lame duck %v", report.LameDuck)
	}
}

func TestShutdownOnSignalEndsWithItsContext(t *testing.T) {
	a := bare(t, two())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.ShutdownOnSignal(ctx); !errors.Is(err, context.Canceled) || !a.Ready() {
		t.Errorf("%v, ready %t; want the context's error and no drain", err, a.Ready())
	}
}

// L30, wago-org/wago#390: closers 1, 2, 3, of which 2 panics.
func TestL30OnePanickingCloseStopsNoOther(t *testing.T) {
	var q ShutdownQueue
	var order []string
	broken := errors.New("broken")
	must(t, q.Register("1", closerFunc(func() error { order = append(order, "1"); return broken })))
	must(t, q.Register("2", closerFunc(func() error { order = append(order, "2"); panic("boom") })))
	must(t, q.Register("3", closerFunc(func() error { order = append(order, "3"); return nil })))
	err := q.Close(t.Context())
	if !slices.Equal(order, []string{"3", "2", "1"}) {
		t.Errorf("order %q, want 3, 2, 1", order)
	}
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "close 2: panic: boom") {
		t.Errorf("error %v, want both, joined", err)
	}
	if err := q.Close(t.Context()); err != nil || len(order) != 3 {
		t.Errorf("second close: %v, %q; want nothing", err, order)
	}
}

func TestShutdownQueue(t *testing.T) {
	t.Run("registers an object once", func(t *testing.T) {
		var q ShutdownQueue
		c := &counter{}
		must(t, q.Register("a", c))
		must(t, q.Register("b", c))
		must(t, q.Close(t.Context()))
		if c.n != 1 {
			t.Errorf("closed %d times, want 1", c.n)
		}
	})
	t.Run("takes objects that cannot be compared", func(t *testing.T) {
		var q ShutdownQueue
		n := 0
		c := slicer{func() { n++ }}
		must(t, q.Register("a", c))
		must(t, q.Register("b", c))
		must(t, q.Close(t.Context()))
		if n != 2 {
			t.Errorf("closed %d times, want 2", n)
		}
	})
	t.Run("closes at once what comes during shutdown", func(t *testing.T) {
		var q ShutdownQueue
		c := &counter{}
		must(t, q.Close(t.Context()))
		must(t, q.Register("late", c))
		if c.n != 1 {
			t.Errorf("closed %d times, want 1", c.n)
		}
	})
	t.Run("refuses nil", func(t *testing.T) {
		var q ShutdownQueue
		if err := q.Register("nothing", nil); err == nil {
			t.Error("nil was registered")
		}
	})
	t.Run("does not wait for ever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var q ShutdownQueue
			block := make(chan struct{})
			defer close(block)
			c := &counter{}
			must(t, q.Register("first", c))
			must(t, q.Register("hangs", closerFunc(func() error { <-block; return nil })))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := q.Close(ctx)
			synctest.Wait()
			if err == nil || !strings.Contains(err.Error(), "close hangs: not waited for") || c.n != 1 {
				t.Errorf("error %v, the other closed %d times; want hangs named and 1", err, c.n)
			}
		})
	})
	t.Run("survives Goexit", func(t *testing.T) {
		var q ShutdownQueue
		must(t, q.Register("exits", closerFunc(func() error { runtime.Goexit(); return nil })))
		if err := q.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "close exits: called runtime.Goexit") {
			t.Errorf("error %v, want Goexit named", err)
		}
	})
}

func TestPanickingProducerIsAnError(t *testing.T) {
	a := bare(t, nil, WithLameDuck(0))
	a.OnStop("server", func(context.Context) error { panic("boom") })
	if _, err := a.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), "stop server: panic: boom") {
		t.Errorf("error %v", err)
	}
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }

type counter struct{ n int }

func (c *counter) Close() error { c.n++; return nil }

type slicer []func()

func (s slicer) Close() error { s[0](); return nil }
