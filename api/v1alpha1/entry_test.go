// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

func TestEntryCarriesEveryField(t *testing.T) {
	tests := map[string]struct {
		spec ServiceBulkheadSpec
		want bulkheadconfig.Service
	}{
		"all": {
			ServiceBulkheadSpec{
				Service: "payments", ConfigMapName: "shop-bulkheads", Limit: new(int32(25)),
				MaxWait: "50ms", ReclaimAfter: "1m30s", OnReclaim: OnReclaimRelease,
				Enforcement: EnforcementShadow, Queue: &Queue{Capacity: 64, MaxConcurrency: 8},
				DrainTimeout: "20s",
			},
			bulkheadconfig.Service{
				Limit: 25, MaxWait: 50 * time.Millisecond, ReclaimAfter: 90 * time.Second,
				OnReclaim: bulkheadconfig.Release, Enforcement: bulkheadconfig.Shadow,
				Queue:        &bulkheadconfig.Queue{Capacity: 64, MaxConcurrency: 8},
				DrainTimeout: new(20 * time.Second),
			},
		},
		"least, without the schema's defaults": {
			ServiceBulkheadSpec{Limit: new(int32(0)), ReclaimAfter: "30s"},
			bulkheadconfig.Service{
				ReclaimAfter: 30 * time.Second,
				OnReclaim:    bulkheadconfig.Cancel, Enforcement: bulkheadconfig.Enforce,
			},
		},
		"a drain time-out of nothing is not an absent one": {
			ServiceBulkheadSpec{Limit: new(int32(1)), ReclaimAfter: "30s", DrainTimeout: "0s"},
			bulkheadconfig.Service{
				Limit: 1, ReclaimAfter: 30 * time.Second, DrainTimeout: new(time.Duration(0)),
				OnReclaim: bulkheadconfig.Cancel, Enforcement: bulkheadconfig.Enforce,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Entry(rule{Spec: test.spec}.bulkhead())
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func TestEntryNamesWhatIsWrong(t *testing.T) {
	_, err := Entry(rule{Spec: ServiceBulkheadSpec{ReclaimAfter: "1d"}}.bulkhead())
	for _, want := range []string{"spec.limit: Required value", "spec.reclaimAfter: Invalid value"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
}

// TestEntryIsEncodable: nothing that admission lets through can fail to render.
func TestEntryIsEncodable(t *testing.T) {
	for _, row := range rules(t) {
		b := row.bulkhead()
		entry, err := Entry(b)
		if err != nil {
			continue
		}
		if _, err := bulkheadconfig.Encode(map[string]bulkheadconfig.Service{b.Service(): entry}); err != nil {
			t.Errorf("%s: %v", row.Case, err)
		}
	}
}

func TestEffectiveValues(t *testing.T) {
	absent := &ServiceBulkhead{ObjectMeta: metav1.ObjectMeta{Name: "payments"}}
	set := absent.DeepCopy()
	set.Spec.Service, set.Spec.ConfigMapName = "pay", "shop-bulkheads"
	tests := map[string]struct{ got, want string }{
		"absent service":       {absent.Service(), "payments"},
		"absent configMapName": {absent.ConfigMapName(), "service-bulkheads"},
		"service":              {set.Service(), "pay"},
		"configMapName":        {set.ConfigMapName(), "shop-bulkheads"},
	}
	for name, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: got %q, want %q", name, test.got, test.want)
		}
	}
}
