// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/agent/agentprom"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// The demo reads what the agent's own collector writes.
func TestParseBulkhead(t *testing.T) {
	a, err := agent.New(t.TempDir(), agent.WithLameDuck(0), agent.WithUnlisted(agent.Defaults(map[string]bulkheadconfig.Service{
		"payments": {Limit: 2, ReclaimAfter: time.Minute},
	})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = a.Shutdown(context.Background()) })
	payments := a.Bulkhead("payments")
	for range 3 {
		if permit, ok := payments.TryAcquire(); ok {
			t.Cleanup(func() { permit.Release() })
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(agentprom.NewCollector(a))
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))

	got, err := parseBulkhead(answer.Body, "payments")
	if err != nil {
		t.Fatal(err)
	}
	if want := (bulkhead{limit: 2, inFlight: 2, admitted: 2, shed: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got.asked() != 3 {
		t.Errorf("asked %d times", got.asked())
	}
}

func TestParseBulkheadSaysWhatIsMissing(t *testing.T) {
	_, err := parseBulkhead(strings.NewReader("servicebulkhead_limit{service=\"search\"} 1\n"), "payments")
	if err == nil || !strings.Contains(err.Error(), "payments") {
		t.Errorf("error: %v", err)
	}
}

func TestBar(t *testing.T) {
	for want, b := range map[string]bulkhead{
		"░░░░░│                  ": {limit: 10},
		"██░░░│                  ": {limit: 10, inFlight: 3},
		"█████│••                ": {limit: 10, inFlight: 10, waiting: 4},
		"█████████│              ": {limit: 10, inFlight: 18}, // the limit was lowered
		"████████████████████│•••": {limit: 40, inFlight: 40, waiting: 20},
	} {
		if got := (&printer{}).bar(b); got != want {
			t.Errorf("%+v:\ngot  %q\nwant %q", b, got, want)
		}
	}
}

func TestEveryFailedCheckIsCountedAndShown(t *testing.T) {
	out, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{out: newPrinter(out)}
	s.expectAtMost("calls", 25, 25)
	s.expectAtMost("too many calls", 26, 25)
	s.expectAtLeast("sales", 1, 1)
	s.expectAtLeast("no sales", 0, 1)
	s.expectEqual("answer", "no", "no")
	s.expectEqual("other answer", "yes", "no")
	s.summarize(time.Second)
	if s.checks.failed() != 3 {
		t.Errorf("%d failed", s.checks.failed())
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"✓ calls: 25", "✗ too many calls: 26, expected at most 25", "3 of 6 checks passed"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestAwait(t *testing.T) {
	calls := 0
	err := await(t.Context(), time.Minute, "a third look", func(context.Context) (bool, error) {
		calls++
		return calls == 3, nil
	})
	if err != nil || calls != 3 {
		t.Errorf("%d looks, %v", calls, err)
	}
	broken := errors.New("broken")
	err = await(t.Context(), time.Millisecond, "what never comes", func(context.Context) (bool, error) { return false, broken })
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "what never comes: not within 1ms") {
		t.Errorf("error: %v", err)
	}
}

func TestText(t *testing.T) {
	if got := words(`{"limit":25,"reclaimAfter":"2s"}`); got != "limit 25, reclaimAfter 2s" {
		t.Errorf("words = %q", got)
	}
	if got := shellWords([]string{"patch", "-p", `{"a":1}`}); got != `patch -p '{"a":1}'` {
		t.Errorf("shellWords = %q", got)
	}
	if got := strings.Join(wrap("one two  three\n\tfour", 9), "|"); got != "one two|three|four" {
		t.Errorf("wrap = %q", got)
	}
	now := time.Now()
	if got := beside(now.Add(12*time.Millisecond), now); got != "12ms after" {
		t.Errorf("beside = %q", got)
	}
	if got := beside(now.Add(-time.Second), now); got != "before" {
		t.Errorf("beside = %q", got)
	}
}

// Every act says what it shows, and only the last is left out of what is kept.
func TestActs(t *testing.T) {
	all, kept := acts(false), acts(true)
	if len(kept) != len(all)-1 || all[len(all)-1].title != "SIGTERM" {
		t.Errorf("%d acts, %d kept", len(all), len(kept))
	}
	for _, a := range all {
		if a.title == "" || a.text == "" || a.play == nil {
			t.Errorf("act %q is not complete", a.title)
		}
	}
}

func TestTheSamplesAreWhatTheActsSpeakOf(t *testing.T) {
	text, err := os.ReadFile("../../config/samples/payments.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"service: payments", "configMapName: " + configMap, "namespace: " + namespace, "limit: 25", "maxWait: 50ms"} {
		if !strings.Contains(string(text), line) {
			t.Errorf("the sample has no %q", line)
		}
	}
}
