// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/servicebulkhead/servicebulkhead/cmd/kubectl-bulkhead/internal/judge"
)

func reference(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../../docs/reference/validate.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// block is the first block of code in a language.
func block(t *testing.T, page, language string) string {
	t.Helper()
	_, rest, _ := strings.Cut(page, "\n```"+language+"\n")
	text, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatalf("no block of %s", language)
	}
	return text
}

// TestReferenceExample runs the example of docs/reference/validate.md.
func TestReferenceExample(t *testing.T) {
	page := reference(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("bulkheads.yaml", []byte(block(t, page, "yaml")), 0o600); err != nil {
		t.Fatal(err)
	}
	for format := range printers {
		code, stdout, stderr := run("", "validate", "-f", "bulkheads.yaml", "-o", format)
		if want := block(t, page, format); code != codeWrong || stdout != want {
			t.Errorf("got exit code %d and\n%s\nwant\n%s", code, stdout, want)
		}
		if !strings.Contains(page, "`"+strings.TrimSpace(stderr)+"`") {
			t.Errorf("the page does not have %q", stderr)
		}
	}
}

// TestReferenceIsComplete looks for every flag, exit code and field of the JSON.
func TestReferenceIsComplete(t *testing.T) {
	page := reference(t)
	var want []string
	validateCommand(new(int)).Flags().VisitAll(func(f *pflag.Flag) { want = append(want, "--"+f.Name) })
	for _, value := range []any{judge.Report{}, judge.Finding{Line: 1, Namespace: "x", Name: "x", Field: "x"}} {
		for name := range fields(t, value) {
			want = append(want, name)
		}
	}
	for _, word := range want {
		if !strings.Contains(page, "`"+word+"`") {
			t.Errorf("the page does not explain `%s`", word)
		}
	}
}

func fields(t *testing.T, value any) (fields map[string]any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fields
}
