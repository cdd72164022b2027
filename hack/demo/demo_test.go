// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/internal/saturated"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
	"github.com/servicebulkhead/servicebulkhead/pkg/agent/agentprom"
)

// The demo reads what the agent's own collector writes.
func TestParseBulkhead(t *testing.T) {
	a := saturated.Agent(t)
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

// Every act says what it shows, and only the last is left out of what is kept.
func TestActs(t *testing.T) {
	all, kept := acts(false), acts(true)
	if len(kept) != len(all)-1 || all[len(all)-1].Title != "SIGTERM" {
		t.Errorf("%d acts, %d kept", len(all), len(kept))
	}
	for _, a := range all {
		if a.Title == "" || a.Text == "" || a.Play == nil {
			t.Errorf("act %q is not complete", a.Title)
		}
	}
}

func TestTheSamplesAreWhatTheActsSpeakOf(t *testing.T) {
	text, err := os.ReadFile("../../config/samples/payments.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"service: payments", "configMapName: " + story.ConfigMap, "namespace: " + story.Namespace, "limit: 25", "maxWait: 50ms"} {
		if !strings.Contains(string(text), line) {
			t.Errorf("the sample has no %q", line)
		}
	}
}
