// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// TestRoundTrip follows generated objects from the text that somebody wrote to the
// values that the agent reads: they are those that the operator decided on.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	services := map[string]bulkheadconfig.Service{}
	for range bulkheadconfig.MaxServices {
		o := valid(r, oneIn(r, 2))
		text := o.json(r)
		b, errs := v1alpha1.Parse([]byte(text))
		if len(errs) > 0 {
			t.Fatalf("%s: %v", text, errs)
		}
		entry, err := v1alpha1.Entry(b)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		services[b.Service()] = entry
	}
	text, err := bulkheadconfig.Encode(services)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := bulkheadconfig.Decode(text)
	if err != nil || !reflect.DeepEqual(doc.Services, services) || len(services) < 100 || len(doc.Unknown) > 0 {
		t.Errorf("%d services became %d, unknown %v: %v", len(services), len(doc.Services), doc.Unknown, err)
	}
	if len(text) > bulkheadconfig.MaxBytes {
		t.Errorf("%d services take %d bytes", len(services), len(text))
	}
}
