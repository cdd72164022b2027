// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package words

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/internal/saturated"
)

// What the agent's own page says is what is read from it.
func TestAgentIsWhatTheAgentSays(t *testing.T) {
	a := saturated.Agent(t)
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
