// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agentprom_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/agent/agentprom"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// From the word in the document to what a team sees: in Shadow everything is
// admitted, and metrics, page and JSON say what enforcement would have done.
func TestShadowFromTheDocumentToWhatPeopleSee(t *testing.T) {
	dir := t.TempDir()
	s := bulkheadconfig.Service{Limit: 2, ReclaimAfter: time.Minute, Enforcement: bulkheadconfig.Shadow}
	put(t, dir, map[string]bulkheadconfig.Service{"payments": s})
	a := startOn(t, dir, agent.WithPollInterval(time.Millisecond))
	payments := a.Bulkhead("payments")
	for range 5 {
		if _, ok := payments.TryAcquire(); !ok {
			t.Error("a call was shed in Shadow")
		}
	}
	compare(t, a, 1)

	w := httptest.NewRecorder()
	a.DebugHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?format=json", http.NoBody))
	var seen struct {
		Services []struct {
			Mode      string
			InFlight  int
			Unlimited int
			Counts    struct{ Admitted, Shadowed, Saturated int }
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &seen); err != nil {
		t.Fatal(err)
	}
	one := seen.Services[0]
	if one.Mode != "Shadow" || one.InFlight != 2 || one.Unlimited != 3 || one.Counts.Admitted != 5 || one.Counts.Shadowed != 3 || one.Counts.Saturated != 0 {
		t.Errorf("JSON says %+v", one)
	}
	w = httptest.NewRecorder()
	a.DebugHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if page := w.Body.String(); !strings.Contains(page, `<span class="tag Shadow">Shadow</span>`) || !strings.Contains(page, "would have made wait or shed: 3 calls") {
		t.Errorf("the page does not say that it is a shadow:\n%s", page)
	}

	s.Enforcement = bulkheadconfig.Enforce
	put(t, dir, map[string]bulkheadconfig.Service{"payments": s})
	for a.Source().Reloads < 2 {
		runtime.Gosched()
	}
	if _, ok := payments.TryAcquire(); ok {
		t.Error("a call was admitted above the limit that is enforced now")
	}
	compare(t, a, 0)
	if n := payments.Stats().Counts.Saturated; n != 1 {
		t.Errorf("%d calls shed, want 1", n)
	}
}

// compare looks at the metrics of a bulkhead that is or was a shadow, with three of
// five calls above its limit.
func compare(t *testing.T, a *agent.Agent, shadow int) {
	t.Helper()
	want := fmt.Sprintf(`
# HELP servicebulkhead_shadow 1 when the bulkhead admits everything and only counts (enforcement: Shadow).
# TYPE servicebulkhead_shadow gauge
servicebulkhead_shadow{service="payments"} %d
# HELP servicebulkhead_shadowed_total Admitted calls that enforcement would have made wait or shed.
# TYPE servicebulkhead_shadowed_total counter
servicebulkhead_shadowed_total{service="payments"} 3
# HELP servicebulkhead_unlimited Calls running without a slot: Shadow above the limit, or not configured.
# TYPE servicebulkhead_unlimited gauge
servicebulkhead_unlimited{service="payments"} 3
`, shadow)
	err := testutil.CollectAndCompare(agentprom.NewCollector(a), strings.NewReader(want),
		"servicebulkhead_shadow", "servicebulkhead_shadowed_total", "servicebulkhead_unlimited")
	if err != nil {
		t.Error(err)
	}
}

// How the agent gets on with its directory is there to alert on.
func TestCollectorReportsTheHealthOfTheSource(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, nil)
	a := startOn(t, dir, agent.WithPollInterval(time.Hour))
	families := gather(t, a)
	now := float64(time.Now().Unix())
	for name, within := range map[string][2]float64{
		"servicebulkhead_document_good":                             {1, 1},
		"servicebulkhead_document_watched":                          {1, 1},
		"servicebulkhead_document_unknown_fields":                   {0, 0},
		"servicebulkhead_document_age_seconds":                      {0, 60},
		"servicebulkhead_document_since_last_good_read_seconds":     {0, 60},
		"servicebulkhead_document_applied_timestamp_seconds":        {now - 60, now + 60},
		"servicebulkhead_document_last_read_timestamp_seconds":      {now - 60, now + 60},
		"servicebulkhead_document_last_good_read_timestamp_seconds": {now - 60, now + 60},
	} {
		if value, ok := families[name]; !ok || value < within[0] || value > within[1] {
			t.Errorf("%s: %v, %t; want %v", name, value, ok, within)
		}
	}

	nothing := startOn(t, t.TempDir(), agent.WithPollInterval(time.Hour))
	got := gather(t, nothing)
	if got["servicebulkhead_document_good"] != 0 {
		t.Error("no document is said to be a good one")
	}
	for _, name := range []string{"servicebulkhead_document_age_seconds", "servicebulkhead_document_since_last_good_read_seconds", "servicebulkhead_document_info"} {
		if value, ok := got[name]; ok {
			t.Errorf("before the first document: %s %v", name, value)
		}
	}
}

// gather returns the metrics that have one series, by name.
func gather(t *testing.T, a *agent.Agent) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(agentprom.NewCollector(a))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		if m := f.GetMetric(); len(m) == 1 {
			values[f.GetName()] = m[0].GetGauge().GetValue()
		}
	}
	return values
}
