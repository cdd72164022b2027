// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// warned is a row of testdata/warnings.yaml.
type warned struct {
	Case     string              `json:"case"`
	Name     string              `json:"name"`
	Spec     ServiceBulkheadSpec `json:"spec"`
	Warnings []string            `json:"warnings"`
}

func TestWarnings(t *testing.T) {
	text, err := os.ReadFile("testdata/warnings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rows []warned
	if err := yaml.UnmarshalStrict(text, &rows); err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, row := range rows {
		b := rule{Name: row.Name, Spec: row.Spec}.bulkhead()
		if errs := Validate(b); len(errs) > 0 {
			t.Errorf("%s: is refused: %v", row.Case, errs)
		}
		got := Warnings(b)
		if !slices.Equal(got, row.Warnings) {
			t.Errorf("%s:\ngot  %q\nwant %q", row.Case, got, row.Warnings)
		}
		for _, text := range got {
			said[text] = true
		}
	}
	if len(said) != 7 {
		t.Errorf("the rows reach %d of 7 warnings", len(said))
	}
}

// TestNoWarningsOfWhatIsRefused: first things first.
func TestNoWarningsOfWhatIsRefused(t *testing.T) {
	for _, row := range rules(t) {
		if got := Warnings(row.bulkhead()); row.Field != "" && got != nil {
			t.Errorf("%s: warns of %q", row.Case, got)
		}
	}
}
