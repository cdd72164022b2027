// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// TestZeroAndAbsentStayApart: on the wire, the kill switch is not a forgotten
// limit, and what was left out is not sent as something.
func TestZeroAndAbsentStayApart(t *testing.T) {
	tests := map[string]struct {
		spec ServiceBulkheadSpec
		want string
	}{
		"nothing":      {ServiceBulkheadSpec{}, `{"metadata":{}}`},
		"a limit of 0": {ServiceBulkheadSpec{Limit: new(int32(0))}, `{"metadata":{},"spec":{"limit":0}}`},
		"no limit":     {ServiceBulkheadSpec{ReclaimAfter: "30s"}, `{"metadata":{},"spec":{"reclaimAfter":"30s"}}`},
		"an empty queue": {
			ServiceBulkheadSpec{ReclaimAfter: "30s", Queue: &Queue{}},
			`{"metadata":{},"spec":{"reclaimAfter":"30s","queue":{}}}`,
		},
	}
	for name, test := range tests {
		got, err := json.Marshal(ServiceBulkhead{Spec: test.spec})
		if err != nil || string(got) != test.want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, test.want)
		}
	}
}

func TestAddToScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"ServiceBulkhead", "ServiceBulkheadList"} {
		if !scheme.Recognizes(GroupVersion.WithKind(kind)) {
			t.Errorf("the scheme does not know %s", kind)
		}
	}
}
