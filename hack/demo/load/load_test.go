// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

func TestEveryAnswerIsCountedOnce(t *testing.T) {
	var served, inFlight, most atomic.Int64
	enough := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := inFlight.Add(1)
		defer inFlight.Add(-1)
		for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
		}
		switch served.Add(1) % 4 {
		case 1:
			http.Error(w, "bulkhead \"payments\": saturated: 25 in flight", http.StatusServiceUnavailable)
		case 2:
			http.Error(w, "slot reclaimed", http.StatusGatewayTimeout)
		case 3:
			http.Error(w, "draining", http.StatusServiceUnavailable)
		}
		if served.Load() == 100 {
			close(enough)
		}
	}))
	defer server.Close()

	l := New(server.URL, 5, time.Microsecond)
	l.Start()
	<-enough
	l.Stop()
	total, window := l.Total(), l.Take()
	if total.Answered() != int(served.Load()) {
		t.Errorf("counted %+v, served %d", total, served.Load())
	}
	if total.OK < 25 || total.Shed < 25 || total.TimedOut < 25 || total.Failed < 25 {
		t.Errorf("counted %+v, want a quarter each", total)
	}
	if window.Counts != total || window.Err == nil || window.Quantile(0.5) <= 0 {
		t.Errorf("window %+v, total %+v", window, total)
	}
	if again := l.Take(); again.Answered() != 0 {
		t.Errorf("a second Take returned %+v", again.Counts)
	}
	if most.Load() > 5 {
		t.Errorf("%d requests at once from 5 clients", most.Load())
	}
}

func TestNoConnectionIsAFailure(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	if a := New(server.URL, 1, 0).ask(); a.Outcome != Failed || a.Err == nil || a.Status != 0 {
		t.Errorf("ask = %+v", a)
	}
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		err    error
		want   Outcome
	}{
		{200, "sold", nil, OK},
		{200, "so", errors.New("cut short"), Failed},
		{503, "bulkhead: saturated", nil, Shed},
		{503, "bulkhead: draining", nil, Failed},
		{504, "slot reclaimed", nil, TimedOut},
		{502, "connection refused", nil, Failed},
	} {
		if got := classify(c.status, c.body, c.err); got != c.want {
			t.Errorf("classify(%d, %q, %v) = %v, want %v", c.status, c.body, c.err, got, c.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	w := Window{latencies: []time.Duration{5, 1, 4, 2, 3}}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 3, 0.99: 5, 1: 5} {
		if got := w.Quantile(q); got != want {
			t.Errorf("Quantile(%v) = %v, want %v", q, got, want)
		}
	}
	if got := (Window{}).Quantile(0.5); got != 0 {
		t.Errorf("Quantile of nothing = %v", got)
	}
}

func TestCountsAddUp(t *testing.T) {
	a, b := Counts{OK: 1, Shed: 2, TimedOut: 3, Failed: 4}, Counts{OK: 5, Shed: 7, TimedOut: 9, Failed: 11}
	sum := Counts{OK: 6, Shed: 9, TimedOut: 12, Failed: 15}
	if got := a.Plus(b); got != sum || got.Answered() != 42 {
		t.Errorf("%+v plus %+v: %+v", a, b, got)
	}
	if got := sum.Minus(b); got != a {
		t.Errorf("%+v minus %+v: %+v", sum, b, got)
	}
}
