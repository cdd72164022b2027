// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agentprom_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
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

// start runs an agent on a directory with one service, payments, until the test
// ends.
func start(t *testing.T) *agent.Agent {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, map[string]bulkheadconfig.Service{"payments": {Limit: 2, ReclaimAfter: time.Minute}})
	return startOn(t, dir)
}

func startOn(t *testing.T, dir string, options ...agent.Option) *agent.Agent {
	t.Helper()
	a, err := agent.New(dir, append(options, agent.WithLameDuck(0), agent.WithDrainTimeout(0),
		agent.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = a.Shutdown(context.Background()) })
	return a
}

func TestCollectorReportsWhatTheBulkheadsCount(t *testing.T) {
	a := start(t)
	payments := a.Bulkhead("payments")
	for range 3 {
		payments.TryAcquire()
	}
	err := testutil.CollectAndCompare(agentprom.NewCollector(a), strings.NewReader(`
# HELP servicebulkhead_calls_total Calls that asked for a slot, by the answer they got.
# TYPE servicebulkhead_calls_total counter
servicebulkhead_calls_total{result="admitted",service="payments"} 2
servicebulkhead_calls_total{result="cancelled",service="payments"} 0
servicebulkhead_calls_total{result="closed",service="payments"} 0
servicebulkhead_calls_total{result="draining",service="payments"} 0
servicebulkhead_calls_total{result="queue_full",service="payments"} 0
servicebulkhead_calls_total{result="refused",service="payments"} 0
servicebulkhead_calls_total{result="saturated",service="payments"} 1
# HELP servicebulkhead_in_flight Slots held now.
# TYPE servicebulkhead_in_flight gauge
servicebulkhead_in_flight{service="payments"} 2
# HELP servicebulkhead_limit Calls that may be in flight at once.
# TYPE servicebulkhead_limit gauge
servicebulkhead_limit{service="payments"} 2
# HELP servicebulkhead_document_good 1 when the last read found a good document, else 0.
# TYPE servicebulkhead_document_good gauge
servicebulkhead_document_good 1
# HELP servicebulkhead_document_updatable 0 when the document is in a subPath mount or plain directory, which is never updated.
# TYPE servicebulkhead_document_updatable gauge
servicebulkhead_document_updatable 0
# HELP servicebulkhead_ready 0 from the moment that the process drains.
# TYPE servicebulkhead_ready gauge
servicebulkhead_ready 1
`), "servicebulkhead_calls_total", "servicebulkhead_in_flight", "servicebulkhead_limit",
		"servicebulkhead_document_good", "servicebulkhead_document_updatable", "servicebulkhead_ready")
	if err != nil {
		t.Error(err)
	}
	problems, err := testutil.CollectAndLint(agentprom.NewCollector(a))
	if err != nil || len(problems) > 0 {
		t.Errorf("metric names: %v, %v", problems, err)
	}
}

// A service that was called before it is listed keeps its history where it was
// counted: no counter falls.
func TestCountersNeverFallWhenAServiceIsListed(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, nil)
	a := startOn(t, dir, agent.WithPollInterval(time.Millisecond))
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(agentprom.NewCollector(a))
	for range 10 {
		a.Bulkhead("payments").TryAcquire()
		a.Bulkhead("search").TryAcquire()
	}
	if n := admitted(t, registry, agent.Overflow); n != 20 {
		t.Errorf("admitted for the rest: %v, want 20", n)
	}
	put(t, dir, map[string]bulkheadconfig.Service{"payments": {Limit: 100, ReclaimAfter: time.Minute}})
	for a.Source().Reloads < 2 {
		runtime.Gosched()
	}
	a.Bulkhead("payments").TryAcquire()
	if rest, own := admitted(t, registry, agent.Overflow), admitted(t, registry, "payments"); rest != 20 || own != 1 {
		t.Errorf("admitted for the rest %v, for payments %v; want 20 and 1", rest, own)
	}
	put(t, dir, nil)
	for a.Source().Reloads < 3 {
		runtime.Gosched()
	}
	if n := testutil.CollectAndCount(agentprom.NewCollector(a), "servicebulkhead_limit"); n != 0 {
		t.Errorf("%d limits are reported where nothing is limited", n)
	}
	if rest, own := admitted(t, registry, agent.Overflow), admitted(t, registry, "payments"); rest != 20 || own != 1 {
		t.Errorf("after it left: admitted for the rest %v, for payments %v; want 20 and 1", rest, own)
	}
}

func put(t *testing.T, dir string, services map[string]bulkheadconfig.Service) {
	t.Helper()
	text, err := bulkheadconfig.Encode(services)
	if err != nil {
		t.Fatal(err)
	}
	next := filepath.Join(dir, "next")
	if err := os.WriteFile(next, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(dir, bulkheadconfig.Key)); err != nil {
		t.Fatal(err)
	}
}

func admitted(t *testing.T, registry *prometheus.Registry, service string) (n float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := m.GetLabel()
			if f.GetName() == "servicebulkhead_calls_total" && labels[0].GetValue() == "admitted" && labels[1].GetValue() == service {
				n = m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// M5, cyanheads/mcp-ts-core#114: distinct keys without end must not grow the
// number of series.
func TestM5SeriesAreBounded(t *testing.T) {
	a := start(t)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(agentprom.NewCollector(a))
	a.Bulkhead("user-0").TryAcquire()
	before := testutil.CollectAndCount(agentprom.NewCollector(a))
	for i := range 1_000_000 {
		a.Bulkhead(fmt.Sprint("user-", i)).TryAcquire()
	}
	if after := testutil.CollectAndCount(agentprom.NewCollector(a)); after != before {
		t.Errorf("%d series after a million names, want the %d before", after, before)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "servicebulkhead_unlimited" {
			continue
		}
		for _, m := range f.GetMetric() {
			if label := m.GetLabel()[0].GetValue(); label == agent.Overflow && m.GetGauge().GetValue() != 1_000_001 {
				t.Errorf("calls of unlisted services: %v, want all 1,000,001 in one series", m.GetGauge().GetValue())
			}
		}
	}
}
