// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// The tests in this file are faults that were found by looking for them.

func TestCloserBehindAHangingOneIsClosedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q ShutdownQueue
		block := make(chan struct{})
		defer close(block)
		flushed := false
		must(t, q.Register("flush", closerFunc(func() error { time.Sleep(time.Millisecond); flushed = true; return nil })))
		must(t, q.Register("hangs", closerFunc(func() error { <-block; return nil })))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := q.Close(ctx); !flushed || err == nil || !strings.Contains(err.Error(), "close hangs: not waited for") {
			t.Errorf("flushed %t, error %v", flushed, err)
		}
	})
}

func TestObjectRegisteredAgainDuringShutdownIsClosedOnce(t *testing.T) {
	var q ShutdownQueue
	c := &counter{}
	must(t, q.Register("a", c))
	must(t, q.Close(t.Context()))
	must(t, q.Register("a", c))
	if c.n != 1 {
		t.Errorf("closed %d times", c.n)
	}
}

func TestDefaultsHaveDrainTimeoutsOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := bare(t, nil, WithLameDuck(0), WithUnlisted(Defaults(map[string]bulkheadconfig.Service{
			"search": {Limit: 1, ReclaimAfter: time.Hour, DrainTimeout: new(2 * time.Second)},
		})))
		a.Bulkhead("search").TryAcquire()
		if report, _ := a.Shutdown(t.Context()); report.Running != 2*time.Second {
			t.Errorf("waited %v for running calls, want the service's own 2s", report.Running)
		}
	})
}

func TestProducerThatIsRegisteredTooLateIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := bare(t, two(), WithLameDuck(time.Second))
		a.Bulkhead("payments").TryAcquire()
		go func() { _, _ = a.Shutdown(t.Context()) }()
		time.Sleep(2 * time.Second)
		stopped := make(chan struct{}, 2)
		a.OnStop("server", func(context.Context) error { stopped <- struct{}{}; return nil })
		a.OnStop("worker", func(context.Context) error { stopped <- struct{}{}; return errors.New("told in the log") })
		synctest.Wait()
		if len(stopped) != 2 {
			t.Errorf("%d of 2 stopped", len(stopped))
		}
		<-a.drain.done
	})
}

func TestProducerThatExitsItsGoroutineIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := bare(t, two(), WithLameDuck(0))
		a.OnStop("server", func(context.Context) error { runtime.Goexit(); return nil })
		report, err := a.Shutdown(t.Context())
		if report.Producers != 0 || err == nil || !strings.Contains(err.Error(), "stop server: called runtime.Goexit") {
			t.Errorf("took %v, error %v", report.Producers, err)
		}
	})
}

// A producer that hangs must leave running calls a part of the time, and is named.
func TestHangingProducerLeavesTimeForRunningCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := bare(t, two(), WithLameDuck(0), WithDrainTimeout(20*time.Second))
		over, running, closedUnderACall := make(chan struct{}), false, false
		defer close(over)
		a.OnStop("hangs", func(context.Context) error { <-over; return nil })
		a.OnStop("stops", func(context.Context) error { return nil })
		must(t, a.CloseOnShutdown("pool", closerFunc(func() error { closedUnderACall = running; return nil })))
		go func() { // a worker that nobody registered
			for a.Bulkhead("payments").Do(context.WithoutCancel(t.Context()), func(context.Context) error {
				running = true
				time.Sleep(100 * time.Millisecond)
				running = false
				return nil
			}) == nil {
				time.Sleep(50 * time.Millisecond)
			}
		}()
		report, err := a.Shutdown(t.Context())
		if closedUnderACall || report.Remaining() != 0 || report.Producers != 15*time.Second {
			t.Errorf("pool closed under a call: %t\n%v", closedUnderACall, report)
		}
		if err == nil || !strings.Contains(err.Error(), "stop hangs: not stopped in time") {
			t.Errorf("error %v, want the culprit named", err)
		}
		time.Sleep(time.Second) // the worker finds that it is refused, and ends
	})
}

func TestShutdownFromInsideItselfDoesNotWaitForItself(t *testing.T) {
	a := bare(t, two(), WithLameDuck(0))
	a.OnStop("app", func(ctx context.Context) error { _, err := a.Shutdown(ctx); return err })
	if report, err := a.Shutdown(t.Context()); !errors.Is(err, errInside) || report.Total() > time.Minute {
		t.Errorf("%v, error %v", report, err)
	}
}

func TestSecondShutdownHeedsItsOwnContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := bare(t, two(), WithLameDuck(10*time.Second))
		go func() { _, _ = a.Shutdown(context.WithoutCancel(t.Context())) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if _, err := a.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("second shutdown: %v after %v", err, time.Since(begin))
		}
		<-a.drain.done
	})
}

// curious is a log handler that asks the agent something, as one that ships logs
// through a bulkhead would.
type curious struct {
	news
	agent **Agent
}

func (h curious) Handle(ctx context.Context, r slog.Record) error {
	if *h.agent != nil {
		(*h.agent).Bulkhead("logs")
		(*h.agent).Source()
	}
	return h.news.Handle(ctx, r)
}

func TestLogHandlerMayAskTheAgent(t *testing.T) {
	v := newVolume(t)
	var a *Agent
	s, r := quiet(v.dir, PassThrough())
	log := curious{newNews(), &a}
	s.log, r.log = slog.New(log), slog.New(log)
	a = &Agent{registry: r, source: s}
	for _, text := range []string{document(t, 1), "{", document(t, 2)} {
		v.publish(text)
		s.reload()
	}
	for i := range maxUnlisted + 1 {
		a.Bulkhead(strings.Repeat("x", i))
	}
	for _, message := range []string{"bulkheads configured", "document not usable", "bulkheads configured", "document is good again", "too many services"} {
		log.expect(t, message)
	}
}

// A new directory may get the inode of the old one, so that it looks the same.
func TestDirectoryMadeAnewIsWatchedAgain(t *testing.T) {
	v := &volume{t: t, dir: filepath.Join(t.TempDir(), "volume")}
	must(t, os.Mkdir(v.dir, 0o700))
	v.publish(document(t, 1))
	a, log := start(t, v.dir, WithPollInterval(10*time.Millisecond))
	log.expect(t, "bulkheads configured")
	must(t, os.RemoveAll(v.dir))
	log.expect(t, "document not usable")
	must(t, os.Mkdir(v.dir, 0o700))
	v.n = 0
	v.publish(document(t, 2))
	log.expect(t, "bulkheads configured")
	w := newWatch(v.dir, slog.New(log))
	defer w.close()
	must(t, os.RemoveAll(v.dir))
	<-w.hints()
	must(t, os.Mkdir(v.dir, 0o700))
	w.renew()
	if list := w.watcher.WatchList(); len(list) != 1 {
		t.Errorf("watching %q", list)
	}
	_ = a
}

// Swaps without a pause: a read either sees one publication or tries again.
func TestReadsDuringSwapsSeeOnePublication(t *testing.T) {
	v := newVolume(t)
	v.publish(document(t, 1))
	a, _ := start(t, v.dir, WithPollInterval(time.Hour))
	reads := make(chan error)
	go func() {
		defer close(reads)
		for limit := 0; limit < 300; {
			text, _, err := read(v.dir)
			if err != nil {
				reads <- err
				return
			}
			doc, err := bulkheadconfig.Decode(text)
			if err != nil || doc.Services["payments"].Limit < limit {
				reads <- errors.Join(err, errors.New("torn or out of order"))
				return
			}
			limit = doc.Services["payments"].Limit
		}
	}()
	for limit := 2; limit <= 300; limit++ {
		v.publish(document(t, limit))
	}
	if err := <-reads; err != nil {
		t.Error(err)
	}
	for limitOf(a.Bulkhead("payments")) != 300 {
		runtime.Gosched()
	}
	if failures := a.Source().Failures; failures != 0 {
		t.Errorf("%d reads failed", failures)
	}
}

func TestSubPathMountIsToldOnce(t *testing.T) {
	dir, log := t.TempDir(), newNews()
	must(t, os.WriteFile(filepath.Join(dir, bulkheadconfig.Key), []byte(document(t, 3)), 0o600))
	r := newRegistry(settings{unlisted: PassThrough(), log: slog.New(log)})
	s := &source{dir: dir, log: slog.New(log), apply: r.apply}
	s.reload()
	s.reload()
	warnings := 0
	for range len(log) {
		if strings.Contains(<-log, "subPath") {
			warnings++
		}
	}
	if warnings != 1 || s.status.Updatable || limitOf(r.bulkhead("payments")) != 3 {
		t.Errorf("%d warnings, updatable %t; want 1 and false, and the document in force", warnings, s.status.Updatable)
	}
}

// An optional ConfigMap that is not there yet is a volume that will be updated.
func TestVolumeWithoutADocumentIsUpdatable(t *testing.T) {
	v := newVolume(t)
	v.publish("")
	a, _ := start(t, v.dir)
	if s := a.Source(); !s.Updatable || s.Err == nil {
		t.Errorf("source %+v", s)
	}
}
