// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// each runs a test with every example.
func each(t *testing.T, test func(*testing.T, example)) {
	t.Helper()
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) { test(t, e) })
	}
}

// D1, kubernetes/kubernetes#86280: SIGTERM under 500 requests per second. The
// client does what a Service's endpoints do: it goes on for a moment after
// readiness has failed, and then sends no more. Some calls are still running when
// the lame duck time has passed.
func TestD1NoAcceptedRequestFails(t *testing.T) {
	each(t, func(t *testing.T, e example) {
		const slow = 10
		u := newUpstream()
		p := e.start(t, e.upstream(t, u), 2*time.Second, 20*time.Second)
		c := e.connect(t, p)
		l := startLoad(t, c.buy)
		l.await(t, rate)
		u.hold(t, slow)

		p.terminate(t)
		eventually(t, "not ready", func() bool { return !c.ready(t.Context()) })
		l.await(t, rate/5) // answered while it is not ready
		l.end()
		eventually(t, "all but the slow calls answered", func() bool { return l.answered.Load() == l.sent.Load()-slow })
		eventually(t, "no connection accepted any more", func() bool { return !p.listens() })
		close(u.release)
		l.requests.Wait()

		code, took := p.awaitExit(t)
		sent, r := l.sent.Load(), p.report(t)
		t.Logf("%d requests in %v, exit %v after SIGTERM\n%s", sent, l.took, took, p.stdout)
		if failed := l.failed.Load(); failed != 0 || u.served.Load() != sent {
			t.Errorf("of %d requests %d failed, the first with %v; the upstream served %d", sent, failed, l.firstError(), u.served.Load())
		}
		if perSecond := float64(sent) / l.took.Seconds(); perSecond < rate*0.95 {
			t.Errorf("sent %.0f requests per second, want %d", perSecond, rate)
		}
		if code != 0 {
			t.Errorf("exit code %d", code)
		}
		if want := slow * len(e.passed); r.finished != want || r.remaining != 0 || r.letGo != 0 || r.closed != e.closed || r.lameDuck < 2*time.Second {
			t.Errorf("the report is wrong: want %d calls finished, none to remain or let go, %d closed, after a lame duck time of 2s", want, e.closed)
		}
		r.checkTimes(t, took)
	})
}

// A call that hangs is reported by service and age, and does not keep the program
// from ending.
func TestD1HungCallIsReportedAndDoesNotPreventTheExit(t *testing.T) {
	each(t, func(t *testing.T, e example) {
		u := newUpstream()
		p := e.start(t, e.upstream(t, u), 100*time.Millisecond, time.Second)
		c := e.connect(t, p)
		answer := make(chan error, 1)
		go func() { answer <- c.buy(t.Context()) }()
		u.hold(t, 1)
		hangsSince := time.Now()

		p.terminate(t)
		code, took := p.awaitExit(t)
		r := p.report(t)
		if err := <-answer; err == nil {
			t.Error("the hung call was answered")
		}
		if len(r.ages) != len(e.passed) || r.remaining != len(e.passed) || r.finished != 0 || r.closed != e.closed {
			t.Errorf("the report is wrong: want one call of each of %q to remain, and %d closed", e.passed, e.closed)
		}
		for _, service := range e.passed {
			// It has seen the whole drain but for the dependencies, and began before this test knew.
			if age := r.ages[service]; age < 1100*time.Millisecond || age > time.Since(hangsSince)+time.Second {
				t.Errorf("the call of %s is said to run for %v", service, age)
			}
		}
		r.checkTimes(t, took)
		if text := p.stderr.String(); code != 1 || !strings.Contains(text, "calls had not ended") || !strings.Contains(text, "stop ") {
			t.Errorf("exit code %d, want 1, and the reasons on standard error:\n%s", code, text)
		}
	})
}

// A second SIGTERM cuts the drain short: the lame duck time, and the wait for the
// call that runs. What calls are made with is closed all the same.
func TestD1SecondSignalCutsTheDrainShortInOrder(t *testing.T) {
	each(t, func(t *testing.T, e example) {
		u := newUpstream()
		p := e.start(t, e.upstream(t, u), time.Hour, time.Hour)
		c := e.connect(t, p)
		go func() { _ = c.buy(t.Context()) }()
		u.hold(t, 1)

		p.terminate(t)
		eventually(t, "not ready", func() bool { return !c.ready(t.Context()) })
		if err := c.buy(t.Context()); err != nil {
			t.Errorf("a request in the lame duck time: %v", err)
		}
		p.terminate(t)
		code, _ := p.awaitExit(t)
		if r := p.report(t); r.remaining != len(e.passed) || r.finished != 0 || r.closed != e.closed {
			t.Errorf("the report is wrong: want one call of each of %q to remain, and %d closed", e.passed, e.closed)
		}
		if code != 1 {
			t.Errorf("exit code %d, want 1", code)
		}
	})
}

// A program that cannot do its work says so, with the same exit code.
func TestAProgramThatCannotStartEndsWith1(t *testing.T) {
	each(t, func(t *testing.T, e example) {
		u := newUpstream()
		running := e.start(t, e.upstream(t, u), 0, 0)
		out, err := e.command("-listen", running.address).CombinedOutput()
		if err == nil || !strings.Contains(string(out), e.name+": listen tcp") {
			t.Errorf("%v, %s", err, out)
		}
	})
}

// D1 for clients that keep their connections, which no endpoint's removal reaches:
// each goes on until an answer asks it to use the connection no more. All are told
// within the lame duck time.
func TestD1ClientsWithConnectionsOfTheirOwnAreToldToLeave(t *testing.T) {
	const clients = 50
	e, u := httpserver(), newUpstream()
	p := e.start(t, e.upstream(t, u), 2*time.Second, 20*time.Second)
	results := make(chan error, clients)
	var answered atomic.Int64
	for range clients {
		go func() {
			client := &http.Client{Transport: &http.Transport{}}
			for {
				last, err := post(t.Context(), client, "http://"+p.address+"/buy")
				answered.Add(1)
				if err != nil || last {
					results <- err
					return
				}
			}
		}()
	}
	eventually(t, "enough answers", func() bool { return answered.Load() > 5*clients })
	p.terminate(t)
	var errs []error
	for range clients {
		errs = append(errs, <-results)
	}
	if err := errors.Join(errs...); err != nil || !p.listens() {
		t.Errorf("still listening when all had left: %t; errors: %v", p.listens(), err)
	}
	if code, _ := p.awaitExit(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
