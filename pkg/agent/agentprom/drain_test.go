// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agentprom_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/agent/agentprom"
)

// A scrape during the drain sees the steps that have ended, one after it all of
// them.
func TestCollectorReportsTheStepsOfADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startNowhere(t, agent.WithLameDuck(3*time.Second), agent.WithDrainTimeout(20*time.Second))
		a.Bulkhead("payments").TryAcquire() // never ends
		permit, _ := a.Bulkhead("payments").TryAcquire()
		expectDrain(t, a, "")
		done := make(chan struct{})
		go func() { defer close(done); _, _ = a.Shutdown(context.WithoutCancel(t.Context())) }()
		time.Sleep(5 * time.Second)
		expectDrain(t, a, `
# HELP servicebulkhead_drain_step_seconds How long each step of the drain took, 0 until it has ended; absent before the drain.
# TYPE servicebulkhead_drain_step_seconds gauge
servicebulkhead_drain_step_seconds{step="dependencies"} 0
servicebulkhead_drain_step_seconds{step="lame_duck"} 3
servicebulkhead_drain_step_seconds{step="producers"} 0
servicebulkhead_drain_step_seconds{step="running"} 0
`, "servicebulkhead_drain_step_seconds")
		permit.Release()
		<-done
		expectDrain(t, a, `
# HELP servicebulkhead_drain_calls What became of the calls that a drain found; absent before the drain.
# TYPE servicebulkhead_drain_calls gauge
servicebulkhead_drain_calls{outcome="finished"} 1
servicebulkhead_drain_calls{outcome="let_go"} 0
servicebulkhead_drain_calls{outcome="remaining"} 1
# HELP servicebulkhead_drain_step_seconds How long each step of the drain took, 0 until it has ended; absent before the drain.
# TYPE servicebulkhead_drain_step_seconds gauge
servicebulkhead_drain_step_seconds{step="dependencies"} 0
servicebulkhead_drain_step_seconds{step="lame_duck"} 3
servicebulkhead_drain_step_seconds{step="producers"} 0
servicebulkhead_drain_step_seconds{step="running"} 20
`, "servicebulkhead_drain_step_seconds", "servicebulkhead_drain_calls")
	})
}

// startNowhere runs an agent whose directory does not exist, so that nothing is
// watched and it can live under the virtual clock.
func startNowhere(t *testing.T, options ...agent.Option) *agent.Agent {
	t.Helper()
	a, err := agent.New(t.TempDir()+"/nowhere", options...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func expectDrain(t *testing.T, a *agent.Agent, want string, names ...string) {
	t.Helper()
	if len(names) == 0 {
		names = []string{"servicebulkhead_drain_step_seconds", "servicebulkhead_drain_calls"}
	}
	if err := testutil.CollectAndCompare(agentprom.NewCollector(a), strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}
