// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// unwind is how long calls whose contexts a drain has ended may take to return
// before their dependencies are closed.
const unwind = time.Second

// errInside is returned to a producer that calls Shutdown while Shutdown waits
// for it.
var errInside = errors.New("shutdown: called from inside itself")

// drain is what happens between SIGTERM and exit.
type drain struct {
	registry  *registry
	settings  settings
	log       *slog.Logger
	producers producers
	queue     ShutdownQueue

	begun atomic.Bool
	// progress is the report as far as it is known.
	progress atomic.Pointer[Report]
	// done is closed when report and err are final.
	done   chan struct{}
	report Report
	err    error
}

func newDrain(r *registry, s settings) *drain {
	return &drain{
		registry: r, settings: s, log: s.log, done: make(chan struct{}),
		producers: producers{log: s.log, grace: s.drainTimeout},
	}
}

// OnStop registers something that brings new work into the process, an
// http.Server's Shutdown say. Shutdown calls it after the lame duck time and
// before it refuses new calls, so that work that was already accepted can still
// make its calls. All are stopped at the same time; the context ends after three
// quarters of the drain time-out, so that calls that run on have a rest of it. One
// that is registered when the others have been told to stop is told at once.
func (a *Agent) OnStop(name string, stop func(context.Context) error) {
	a.drain.producers.add(&producer{name, stop})
}

// CloseOnShutdown registers a dependency that calls are made with, a database
// pool say. Shutdown closes dependencies last, in reverse order of registration
// (see ShutdownQueue). The error is that of closing it at once, during Shutdown.
func (a *Agent) CloseOnShutdown(name string, closer io.Closer) error {
	return a.drain.queue.Register(name, closer)
}

// Ready says whether the process should get new requests: false from the moment
// that Shutdown begins.
func (a *Agent) Ready() bool { return !a.drain.begun.Load() }

// Draining returns what is known so far of the drain that Shutdown runs, and false
// as long as none has begun. A step that has not ended has taken 0 so far; services
// are known once running calls have been waited for.
func (a *Agent) Draining() (Report, bool) {
	if report := a.drain.progress.Load(); report != nil {
		return *report, true
	}
	return Report{}, false
}

// Shutdown drains the process, in four steps: it reports not ready and keeps
// serving for the lame duck time; stops the producers, refuses new calls with
// limiter.ErrDraining and lets waiting ones go; waits for running calls up to the
// drain time-out (or the service's own, if that is shorter); closes the
// dependencies in reverse order. The end of the context cuts the first three
// short; dependencies are always closed.
//
// The report says what each step took and which calls remain; the error joins
// what producers and dependencies returned. Running calls are never killed. A
// second Shutdown waits for the first, or for its own context, and returns the
// same. Producers and dependencies must not call it: it waits for them.
func (a *Agent) Shutdown(ctx context.Context) (Report, error) {
	d := a.drain
	if ctx.Value(insideKey{}) == d {
		return Report{}, errInside
	}
	if d.begun.CompareAndSwap(false, true) {
		d.report, d.err = d.run(ctx)
		a.stopWatching()
		a.watcher.Wait()
		close(d.done)
	}
	select {
	case <-d.done:
		return d.report, d.err
	case <-ctx.Done():
	}
	select {
	case <-d.done: // both: what is known is better than why it was not waited for
		return d.report, d.err
	default:
		return Report{}, context.Cause(ctx)
	}
}

// insideKey marks the contexts that Shutdown hands out.
type insideKey struct{}

// run is the drain, step by step.
func (d *drain) run(ctx context.Context) (Report, error) {
	var report Report
	ctx = context.WithValue(ctx, insideKey{}, d)
	d.tell(report)
	report.LameDuck = timed(func() { sleep(ctx, d.settings.lameDuck) })
	d.tell(report)

	bounded, cancel := context.WithTimeout(ctx, d.settings.drainTimeout)
	defer cancel()
	stopping, cancel := context.WithTimeout(ctx, d.settings.drainTimeout*3/4)
	defer cancel()
	before := d.registry.busy()
	var stopErr error
	var bulkheads []*draining
	report.Producers = timed(func() {
		stopErr = d.producers.stop(stopping)
		bulkheads = d.refuse(before)
	})
	d.tell(report)
	report.Running = timed(func() { d.await(bounded, bulkheads) })
	report.Services = serviceReports(bulkheads)
	d.tell(report)

	// Dependencies are closed also when the context has ended: their time is their own.
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.settings.closeTimeout)
	defer cancel()
	var closeErr error
	report.Dependencies = timed(func() { report.Closed, closeErr = d.queue.close(closing) })
	d.tell(report)
	err := errors.Join(stopErr, closeErr)
	d.log.Info("drain ends", "took", report.Total(), "finished", report.Finished(), "remaining", report.Remaining(), "error", err)
	return report, err
}

// tell makes the report known as far as it goes. Nothing that it points to changes
// any more.
func (d *drain) tell(report Report) { d.progress.Store(&report) }

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
				b.cancelRemaining(ctx)
			}
		})
	}
	all.Wait()
}

// cancelRemaining ends the contexts of the calls that remain, and gives them a
// moment to return.
func (b *draining) cancelRemaining(ctx context.Context) {
	if len(b.stillRunning) == 0 {
		return
	}
	b.bulkhead.CancelRunning()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unwind)
	defer cancel()
	b.bulkhead.Drain(ctx)
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
