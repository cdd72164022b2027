// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package words

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// What the agent's own page says is what is read from it.
func TestAgentIsWhatTheAgentSays(t *testing.T) {
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
	answer := httptest.NewRecorder()
	a.DebugHandler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/debug/bulkheads?format=json", nil))
	var got Agent
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	b := got.Bulkhead("payments")
	want := Bulkhead{Name: "payments", Mode: "Enforce", Limit: new(2), InFlight: 2, Counts: Counts{Admitted: 2, Saturated: 1}}
	if !reflect.DeepEqual(b, want) || b.LimitInForce() != 2 || got.State == "" {
		t.Errorf("got %+v, want %+v in %s", b, want, answer.Body)
	}
	if other := got.Bulkhead("search"); other.LimitInForce() != Unlimited || other.Name != "search" {
		t.Errorf("a service that nobody knows: %+v", other)
	}
}

func TestPlus(t *testing.T) {
	one, sum := counts(1, 1), counts(3, 2)
	if got := one.Plus(counts(2, 1)); got != sum {
		t.Errorf("got %+v, want %+v", got, sum)
	}
}

// counts have the numbers first, first+step and so on, in their order.
func counts(first, step uint64) (c Counts) {
	for i, v := uint64(0), reflect.ValueOf(&c).Elem(); i < uint64(v.NumField()); i++ {
		v.Field(int(i)).SetUint(first + i*step)
	}
	return c
}
