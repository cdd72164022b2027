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
	text, err := bulkheadconfig.Encode(map[string]bulkheadconfig.Service{"payments": {Limit: 2, ReclaimAfter: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, bulkheadconfig.Key), text, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(dir, agent.WithLameDuck(0), agent.WithDrainTimeout(0), agent.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
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
