// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package saturated has an agent to read from, for the tests of those who read what
// agents say.
package saturated

import (
	"context"
	"testing"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// Agent has the bulkhead "payments" with two slots, of which both are held until the
// test ends, and one call that was shed.
func Agent(t *testing.T) *agent.Agent {
	t.Helper()
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
	return a
}
