// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"
	"testing"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

func TestValidateSet(t *testing.T) {
	const conflict = `spec.service: Duplicate value: "payments": service payments belongs to ServiceBulkhead a in ConfigMap service-bulkheads: delete one of the two`
	payments := service("payments")
	tests := map[string]struct {
		set  []ServiceBulkhead
		want []string // parallel; empty where there is nothing to say
	}{
		"nothing": {},
		"each service is its own": {
			[]ServiceBulkhead{bulkhead("payments"), bulkhead("search")}, []string{"", ""},
		},
		"two for one service": {
			[]ServiceBulkhead{bulkhead("b", payments), bulkhead("a", payments)}, []string{conflict, ""},
		},
		"a name that is another's service": {
			[]ServiceBulkhead{bulkhead("payments"), bulkhead("a", payments)}, []string{conflict, ""},
		},
		"three for one service": {
			[]ServiceBulkhead{bulkhead("a", payments), bulkhead("b", payments), bulkhead("c", payments)}, []string{"", conflict, conflict},
		},
		"in two namespaces": {
			[]ServiceBulkhead{bulkhead("a", payments), bulkhead("b", payments, in("bar"))}, []string{"", ""},
		},
		"in no namespace and one": {
			[]ServiceBulkhead{bulkhead("a", payments, in("")), bulkhead("b", payments)}, []string{"", ""},
		},
		"through two ConfigMaps": {
			[]ServiceBulkhead{bulkhead("a", payments), bulkhead("b", payments, through("other-bulkheads"))}, []string{"", ""},
		},
		"through the default and its name": {
			[]ServiceBulkhead{bulkhead("a", payments), bulkhead("b", payments, through(DefaultConfigMapName))}, []string{"", conflict},
		},
		"one of the two is invalid: Validate's to tell": {
			[]ServiceBulkhead{bulkhead("a", payments, invalid), bulkhead("b", payments)}, []string{"", ""},
		},
		"one object, declared twice: its reader's to tell": {
			[]ServiceBulkhead{bulkhead("a"), bulkhead("a")}, []string{"", ""},
		},
		"two whose names are yet to be generated": {
			[]ServiceBulkhead{bulkhead("", generated), bulkhead("", generated)}, []string{"", ""},
		},
		"one whose name is yet to be generated, for a service that has one": {
			[]ServiceBulkhead{bulkhead("z", payments), bulkhead("", generated, payments)},
			[]string{`spec.service: Duplicate value: "payments": service payments belongs to ServiceBulkhead a- in ConfigMap service-bulkheads: delete one of the two`, ""},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := validated(t, test.set); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func generated(b *ServiceBulkhead) { b.GenerateName = "a-" }

// validated is what ValidateSet has to say, an object a line.
func validated(t *testing.T, set []ServiceBulkhead) []string {
	t.Helper()
	pointers := make([]*ServiceBulkhead, len(set))
	for i := range set {
		pointers[i] = &set[i]
	}
	var lines []string
	for _, errs := range ValidateSet(pointers) {
		if len(errs) > 1 {
			t.Errorf("got %v, want one error at most", errs)
		}
		lines = append(lines, "")
		for _, err := range errs {
			lines[len(lines)-1] = err.Error()
		}
	}
	return lines
}

func TestValidateSetCountsWhatADocumentHolds(t *testing.T) {
	var set []ServiceBulkhead
	for i := range bulkheadconfig.MaxServices + 1 {
		set = append(set, bulkhead(fmt.Sprintf("s%03d", i)))
	}
	got := validated(t, set)
	last := len(got) - 1
	want := `spec.configMapName: Invalid value: "service-bulkheads": the ConfigMap holds 512 bulkheads, the most that fit: give this one another configMapName`
	if got[last] != want {
		t.Errorf("got %q, want %q", got[last], want)
	}
	if slices.ContainsFunc(got[:last], func(line string) bool { return line != "" }) {
		t.Errorf("more than the last was turned away: %q", got)
	}
}

func TestValidateSetPassesOverNil(t *testing.T) {
	if got := ValidateSet([]*ServiceBulkhead{nil, nil}); len(got) != 2 || got[0] != nil || got[1] != nil {
		t.Errorf("got %v", got)
	}
}
