// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// drain is what happens between SIGTERM and exit.
type drain struct {
	registry *registry
	settings settings
	log      *slog.Logger
	queue    ShutdownQueue
	notReady atomic.Bool

	mu        sync.Mutex
	producers []producer
	once      sync.Once
	report    Report
	err       error
}

type producer struct {
	name string
	stop func(context.Context) error
}

func newDrain(r *registry, s settings) *drain {
	return &drain{registry: r, settings: s, log: s.log}
}

// OnStop registers something that brings new work into the process, an
// http.Server's Shutdown say. Shutdown calls it after the lame duck time and
// before it refuses new calls, so that work that was already accepted can still
// make its calls. All are stopped at the same time; the context ends at the drain
// time-out.
func (a *Agent) OnStop(name string, stop func(context.Context) error) {
	a.drain.mu.Lock()
	defer a.drain.mu.Unlock()
	a.drain.producers = append(a.drain.producers, producer{name, stop})
}

// CloseOnShutdown registers a dependency that calls are made with, a database
// pool say. Shutdown closes dependencies last, in reverse order of registration
// (see ShutdownQueue). The error is that of closing it at once, during Shutdown.
func (a *Agent) CloseOnShutdown(name string, closer io.Closer) error {
	return a.drain.queue.Register(name, closer)
}

// Ready says whether the process should get new requests: false from the moment
// that Shutdown begins.
func (a *Agent) Ready() bool { return !a.drain.notReady.Load() }

// Shutdown drains the process, in four steps: it reports not ready and keeps
// serving for the lame duck time; stops the producers, refuses new calls with
// limiter.ErrDraining and lets waiting ones go; waits for running calls up to the
// drain time-out (or the service's own, if that is shorter); closes the
// dependencies in reverse order. The end of the context cuts the first three
// short; dependencies are always closed.
//
// The report says what each step took and which calls remain; the error joins
// what producers and dependencies returned. Running calls are never killed. A
// second Shutdown waits for the first and returns the same.
func (a *Agent) Shutdown(ctx context.Context) (Report, error) {
	d := a.drain
	d.once.Do(func() {
		d.report, d.err = d.run(ctx)
		a.stopWatching()
		a.watcher.Wait()
	})
	return d.report, d.err
}

// ShutdownOnSignal waits for SIGTERM or SIGINT, or one of the given signals, and
// then runs Shutdown; a second signal cuts it short in an orderly way. It returns
// early, without a drain, when ctx ends before a signal arrives.
func (a *Agent) ShutdownOnSignal(ctx context.Context, signals ...os.Signal) (Report, error) {
	if len(signals) == 0 {
		signals = []os.Signal{syscall.SIGTERM, syscall.SIGINT}
	}
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, signals...)
	defer signal.Stop(caught)
	select {
	case s := <-caught:
		a.drain.log.Info("drain begins", "signal", s.String())
	case <-ctx.Done():
		return Report{}, context.Cause(ctx)
	}
	ctx, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	go func() {
		select {
		case s := <-caught:
			cut(fmt.Errorf("second signal: %v", s))
		case <-ctx.Done():
		}
	}()
	return a.Shutdown(ctx)
}

// run is the drain, step by step.
func (d *drain) run(ctx context.Context) (Report, error) {
	var report Report
	d.notReady.Store(true)
	report.LameDuck = timed(func() { sleep(ctx, d.settings.lameDuck) })

	bounded, cancel := context.WithTimeout(ctx, d.settings.drainTimeout)
	defer cancel()
	var stopErr error
	var bulkheads []*draining
	before := d.registry.busy()
	report.Producers = timed(func() {
		stopErr = d.stopProducers(bounded)
		bulkheads = d.refuse(before)
	})
	report.Running = timed(func() { d.await(bounded, bulkheads) })
	report.Services = serviceReports(bulkheads)

	// Dependencies are closed also when the context has ended: their time is their own.
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.settings.closeTimeout)
	defer cancel()
	var closeErr error
	report.Dependencies = timed(func() { report.Closed, closeErr = d.queue.close(closing) })
	err := errors.Join(stopErr, closeErr)
	d.log.Info("drain ends", "took", report.Total(), "finished", report.Finished(), "remaining", report.Remaining(), "error", err)
	return report, err
}

// stopProducers stops them all at once and waits for them or the context.
func (d *drain) stopProducers(ctx context.Context) error {
	d.mu.Lock()
	producers := d.producers
	d.mu.Unlock()
	results := make(chan error, len(producers))
	for _, p := range producers {
		go func() { results <- p.run(ctx) }()
	}
	var errs []error
	for range producers {
		select {
		case err := <-results:
			errs = append(errs, err)
		case <-ctx.Done():
			return errors.Join(append(errs, fmt.Errorf("stop producers: not all stopped: %w", context.Cause(ctx)))...)
		}
	}
	return errors.Join(errs...)
}

func (p producer) run(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("stop %s: panic: %v", p.name, v)
		}
	}()
	if err := p.stop(ctx); err != nil {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	return nil
}

// draining is one bulkhead on its way to the end.
type draining struct {
	bulkhead     *limiter.Bulkhead
	timeout      *time.Duration
	letGo        int
	before       busy
	stillRunning []limiter.Running
}

// busy is what a bulkhead had to do with: the calls that ran, and how many had
// been admitted by then.
type busy struct {
	running  int
	admitted uint64
}

func busyNow(b *limiter.Bulkhead) busy {
	s := b.Stats()
	return busy{running: s.InFlight + s.Overdue + s.Unlimited, admitted: s.Counts.Admitted}
}

// finished is how many calls have ended since.
func (b *draining) finished() int {
	admitted := b.bulkhead.Stats().Counts.Admitted - b.before.admitted
	return b.before.running + int(admitted) - len(b.stillRunning)
}

// refuse stops the admission of every bulkhead.
func (d *drain) refuse(before map[*limiter.Bulkhead]busy) []*draining {
	var all []*draining
	for b, timeout := range d.registry.startDraining() {
		all = append(all, &draining{bulkhead: b, timeout: timeout, letGo: b.StopAdmission(), before: before[b]})
	}
	return all
}

// await waits for the running calls of every bulkhead, each up to its own
// time-out if it has one.
func (d *drain) await(ctx context.Context, bulkheads []*draining) {
	var all sync.WaitGroup
	for _, b := range bulkheads {
		all.Go(func() {
			ctx := ctx
			if b.timeout != nil {
				shorter, cancel := context.WithTimeout(ctx, *b.timeout)
				defer cancel()
				ctx = shorter
			}
			b.stillRunning = b.bulkhead.Drain(ctx)
			if d.settings.cancelRemaining {
				b.bulkhead.CancelRunning()
			}
		})
	}
	all.Wait()
}

func timed(step func()) time.Duration {
	begin := time.Now()
	step()
	return time.Since(begin)
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
