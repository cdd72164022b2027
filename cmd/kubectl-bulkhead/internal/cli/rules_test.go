// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/servicebulkhead/servicebulkhead/cmd/kubectl-bulkhead/internal/judge"
)

// row is one of the tables that the API's rules are tested with.
type row struct {
	Case     string         `json:"case"`
	Name     string         `json:"name"`
	Spec     map[string]any `json:"spec"`
	Field    string         `json:"field"`
	Message  string         `json:"message"`
	Warnings []string       `json:"warnings"`
}

func rows(t *testing.T, table string) (rows []row) {
	t.Helper()
	text, err := os.ReadFile("../../../../api/v1alpha1/testdata/" + table)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &rows); err != nil || len(rows) == 0 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	return rows
}

// manifest is the row as a file that begins with something else.
func (r row) manifest(t *testing.T) string {
	t.Helper()
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "servicebulkhead.io/v1alpha1", "kind": "ServiceBulkhead",
		"metadata": map[string]any{"name": cmp.Or(r.Name, "payments"), "namespace": "shop"}, "spec": r.Spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	return other + "---\n# the bulkhead\n" + string(text)
}

// lineOf finds a field by its indentation, or the parent that lacks it.
func lineOf(manifest, path string) int {
	names := strings.Split(path, ".")
	for depth := len(names); depth > 0; depth-- {
		key := strings.Repeat("  ", depth-1) + names[depth-1] + ":"
		line := 0
		for i, text := range strings.Split(manifest, "\n") {
			if strings.HasPrefix(text, key) {
				line = i + 1 // the last: of the second document
			}
		}
		if line > 0 {
			return line
		}
	}
	return 0
}

func validate(t *testing.T, manifest string) (code int, findings []judge.Finding) {
	t.Helper()
	code, stdout, stderr := run(manifest, "validate", "-f", "-", "-o", "json")
	var report judge.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("stdout is no JSON: %v\n%s%s", err, stdout, stderr)
	}
	return code, report.Findings
}

// TestEveryRule has each row of the table told once, at the line where it stands.
func TestEveryRule(t *testing.T) {
	for _, row := range rows(t, "rules.yaml") {
		t.Run(row.Case, func(t *testing.T) {
			text := row.manifest(t)
			code, findings := validate(t, text)
			if row.Field == "" {
				expect(t, code, codeFine, errorsOf(findings))
				return
			}
			expect(t, code, codeWrong, findings, judge.Finding{
				Severity: judge.Error, File: "<stdin>", Line: lineOf(text, row.Field),
				Namespace: "shop", Name: cmp.Or(row.Name, "payments"), Field: row.Field, Message: row.Message,
			})
		})
	}
}

// TestEveryWarning does the same for what is legal but risky.
func TestEveryWarning(t *testing.T) {
	for _, row := range rows(t, "warnings.yaml") {
		t.Run(row.Case, func(t *testing.T) {
			text := row.manifest(t)
			code, findings := validate(t, text)
			var got []string
			for _, f := range findings {
				got = append(got, string(f.Severity)+" "+strconv.Itoa(f.Line)+" "+f.Field+": "+f.Message)
			}
			var want []string
			for _, warning := range row.Warnings {
				path, _, _ := strings.Cut(warning, ": ")
				want = append(want, "warning "+strconv.Itoa(lineOf(text, path))+" "+warning)
			}
			if code != codeFine || !sameSet(got, want) {
				t.Errorf("got exit code %d and\n%s\nwant\n%s", code, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func errorsOf(findings []judge.Finding) []judge.Finding {
	return slices.DeleteFunc(findings, func(f judge.Finding) bool { return f.Severity == judge.Warning })
}

func expect(t *testing.T, code, wantCode int, findings []judge.Finding, want ...judge.Finding) {
	t.Helper()
	if code != wantCode || !slices.Equal(findings, want) {
		t.Errorf("got exit code %d and\n%+v\nwant %d and\n%+v", code, findings, wantCode, want)
	}
}

// sameSet compares without regard to the order.
func sameSet(a, b []string) bool {
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
