// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// openShop returns a shop whose bulkhead has one slot, in front of a payment service.
func openShop(t *testing.T, reclaimAfter time.Duration, payments http.HandlerFunc) (*shop, *agent.Agent) {
	t.Helper()
	text, err := bulkheadconfig.Encode(map[string]bulkheadconfig.Service{"payments": {Limit: 1, ReclaimAfter: reclaimAfter}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, bulkheadconfig.Key), text, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(dir, agent.WithLameDuck(0), agent.WithDrainTimeout(0))
	if err != nil {
		t.Fatal(err)
	}
	service := httptest.NewServer(payments)
	t.Cleanup(func() {
		_, _ = a.Shutdown(context.Background())
		service.Close()
	})
	return newShop(a, service.URL, "shop-1"), a
}

func ask(t *testing.T, s *shop, path string) *httptest.ResponseRecorder {
	t.Helper()
	answer := httptest.NewRecorder()
	s.routes().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return answer
}

func TestBuyAnswers(t *testing.T) {
	works := func(http.ResponseWriter, *http.Request) {}
	fails := func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) }
	hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	nothing := func(*shop) {}
	for _, c := range []struct {
		name         string
		payments     http.HandlerFunc
		reclaimAfter time.Duration
		before       func(*shop)
		status       int
		body         string
	}{
		{"200 when payments answers", works, time.Minute, nothing, 200, "sold"},
		{"502 when payments fails", fails, time.Minute, nothing, 502, "500"},
		{"503 when every slot is held", works, time.Minute, func(s *shop) { s.payments.TryAcquire() }, 503, "saturated"},
		{"503 when the process drains", works, time.Minute, func(s *shop) { s.payments.StopAdmission() }, 503, "draining"},
		{"504 when the slot is reclaimed", hangs, 20 * time.Millisecond, nothing, 504, "reclaimed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := openShop(t, c.reclaimAfter, c.payments)
			c.before(s)
			answer := ask(t, s, "/buy")
			if answer.Code != c.status || !strings.Contains(answer.Body.String(), c.body) {
				t.Errorf("%d %q, want %d and %q", answer.Code, answer.Body, c.status, c.body)
			}
		})
	}
}

func TestMetricsAndReadiness(t *testing.T) {
	s, a := openShop(t, time.Minute, func(http.ResponseWriter, *http.Request) {})
	if answer := ask(t, s, "/metrics"); !strings.Contains(answer.Body.String(), `servicebulkhead_limit{service="payments"} 1`) {
		t.Errorf("metrics: %s", answer.Body)
	}
	if answer := ask(t, s, "/readyz"); answer.Code != http.StatusOK {
		t.Errorf("ready: %d", answer.Code)
	}
	if _, err := a.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if answer := ask(t, s, "/readyz"); answer.Code != http.StatusServiceUnavailable {
		t.Errorf("draining: %d", answer.Code)
	}
}

// What asks in a pod: the kubelet, whoever debugs, and the load generator.
func TestEveryAnswerNamesItsPod(t *testing.T) {
	s, a := openShop(t, time.Minute, func(http.ResponseWriter, *http.Request) {})
	for _, c := range []struct{ path, want string }{ // in this order: the page shows a service once it was asked for
		{"/buy", "sold"}, {"/livez", "ok"}, {"/debug/bulkheads?format=json", `"name": "requests"`},
	} {
		answer := ask(t, s, c.path)
		if answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(), c.want) || answer.Header().Get("X-Pod") != "shop-1" {
			t.Errorf("%s: %d %v %s", c.path, answer.Code, answer.Header(), answer.Body)
		}
	}
	a.Bulkhead("requests").StopAdmission()
	if answer := ask(t, s, "/buy"); answer.Code != http.StatusServiceUnavailable || answer.Header().Get("X-Pod") != "shop-1" {
		t.Errorf("refused: %d %v", answer.Code, answer.Header())
	}
	s.pod = ""
	if answer := ask(t, s, "/buy"); answer.Header()["X-Pod"] != nil {
		t.Errorf("outside of a pod: %v", answer.Header())
	}
}

func TestADrainAsksClientsToLeave(t *testing.T) {
	s, a := openShop(t, time.Minute, func(http.ResponseWriter, *http.Request) {})
	if answer := ask(t, s, "/buy"); answer.Header().Get("Connection") != "" {
		t.Errorf("at first: %v", answer.Header())
	}
	if _, err := a.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if answer := ask(t, s, "/buy"); answer.Header().Get("Connection") != "close" {
		t.Errorf("draining: %v", answer.Header())
	}
}
