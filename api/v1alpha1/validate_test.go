// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// rule is a row of testdata/rules.yaml.
type rule struct {
	Case    string              `json:"case"`
	Name    string              `json:"name"`
	Spec    ServiceBulkheadSpec `json:"spec"`
	Field   string              `json:"field"`
	Message string              `json:"message"`
}

func (r rule) bulkhead() *ServiceBulkhead {
	b := &ServiceBulkhead{Spec: r.Spec}
	b.Name = "payments"
	if r.Name != "" {
		b.Name = r.Name
	}
	return b
}

func rules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile("testdata/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rows []rule
	if err := yaml.UnmarshalStrict(text, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestValidateTellsEveryMistakeOnce(t *testing.T) {
	for _, row := range rules(t) {
		t.Run(row.Case, func(t *testing.T) {
			errs := Validate(row.bulkhead())
			if row.Field == "" {
				if len(errs) != 0 {
					t.Fatalf("got %v, want it accepted", errs)
				}
				return
			}
			if len(errs) != 1 {
				t.Fatalf("got %d errors, want one: %v", len(errs), errs)
			}
			if errs[0].Field != row.Field || errs[0].ErrorBody() != row.Message {
				t.Errorf("got  %s: %s\nwant %s: %s", errs[0].Field, errs[0].ErrorBody(), row.Field, row.Message)
			}
		})
	}
}

func TestValidateTellsAllMistakes(t *testing.T) {
	b := rule{Name: "no.label", Spec: ServiceBulkheadSpec{
		ConfigMapName: "other", MaxWait: "1d", OnReclaim: "Kill", Enforcement: "Maybe",
		Queue: &Queue{MaxConcurrency: -1}, DrainTimeout: "1h",
	}}.bulkhead()
	if errs := Validate(b); len(errs) != 10 {
		t.Errorf("got %d errors, want 10, one a field: %v", len(errs), errs)
	}
}

// TestEntryFollowsValidate: what is refused has no entry, what is accepted has one.
func TestEntryFollowsValidate(t *testing.T) {
	for _, row := range rules(t) {
		if _, err := Entry(row.bulkhead()); (err == nil) != (row.Field == "") {
			t.Errorf("%s: Entry returned error %v", row.Case, err)
		}
	}
}
