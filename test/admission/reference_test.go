// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const referenceFile = "../../docs/reference/admission.md"

var update = flag.Bool("update", false, "write the examples and answers into docs/reference/admission.md")

// section is a part of the page that is written from the tables of this package. The
// specs compare the tables with the API server, and this test with the page.
var section = regexp.MustCompile(`(?s)<!-- begin (.*?) -->\n.*?<!-- end -->`)

// TestReference needs no API server.
func TestReference(t *testing.T) {
	page, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	contents := sections(t)
	written := section.ReplaceAllFunc(page, func(found []byte) []byte {
		name := string(section.FindSubmatch(found)[1])
		content, ok := contents[name]
		if !ok {
			t.Errorf("the page has a section %q, of which the tables say nothing", name)
		}
		delete(contents, name)
		return fmt.Appendf(nil, "<!-- begin %s -->\n%s<!-- end -->", name, content)
	})
	for name := range contents {
		t.Errorf("the page has no section %q, of which the tables say something", name)
	}
	if bytes.Equal(page, written) || t.Failed() {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the tables say: go test ./test/admission -run TestReference -update", referenceFile)
	}
	if err := os.WriteFile(referenceFile, written, 0o644); err != nil {
		t.Fatal(err)
	}
}

// answer is what is said to one example, or to several.
type answer struct {
	text     string
	examples []string
}

// answers are collected by section, in the order of the tables.
type answers map[string][]answer

// add puts an example to the others that get the same answer: word for word, or but
// for the value in it. The first example's answer is the one that is shown.
func (a answers) add(section, text, example string) {
	same := func(b answer) bool { return withoutValue(b.text) == withoutValue(text) }
	if i := slices.IndexFunc(a[section], same); i >= 0 {
		a[section][i].examples = append(a[section][i].examples, example)
		return
	}
	a[section] = append(a[section], answer{text, []string{example}})
}

var (
	value  = regexp.MustCompile(`((?:Invalid|Unsupported) value): (?:"(?:[^"\\]|\\.)*"|-?\d+): `)
	caseID = regexp.MustCompile(` \([A-Z]\d+\)`)
)

func withoutValue(text string) string { return value.ReplaceAllString(text, "$1: ") }

// sections renders what the page is to say.
func sections(t *testing.T) map[string]string {
	all := answers{}
	for _, add := range []func(*testing.T, answers){addKubectlAnswers, addRefusals, addMisfits, addChanges, addWarnings, addGuards, addVerdicts} {
		add(t, all)
	}
	out := map[string]string{}
	for name, list := range all {
		var text strings.Builder
		for _, a := range list {
			for _, example := range a.examples {
				fmt.Fprintf(&text, "- %s\n", example)
			}
			fmt.Fprintf(&text, "\n```\n%s\n```\n\n", a.text)
		}
		out[name] = strings.TrimSuffix(text.String(), "\n")
	}
	return out
}

func readRows[row any](t *testing.T, file string) (rows []row) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &rows)
	}
	if err != nil || len(rows) == 0 {
		t.Fatalf("%s: %d rows: %v", file, len(rows), err)
	}
	return rows
}

func addRefusals(t *testing.T, all answers) {
	for _, row := range readRows[rule](t, rulesFile) {
		if row.Field != "" {
			all.add(row.Field, row.Field+": "+row.Message, example(t, row.Case, row.Name, row.Spec))
		}
	}
}

func addMisfits(t *testing.T, all answers) {
	for _, row := range misfits {
		all.add(row.field, row.field+": "+row.message, example(t, row.what, "", row.spec()))
	}
	all.add("spec", "spec: Required value", "no `spec` at all")
	all.add("unknown fields", misspeltAnswer, "a misspelt field: `spec: "+misspelt+"`")
}

func addChanges(t *testing.T, all answers) {
	for _, row := range immutable {
		before := map[string]any{"limit": 1, "reclaimAfter": "30s"}
		maps.Copy(before, row.before)
		all.add("changes of "+row.field, row.field+": "+row.message,
			example(t, row.what, "", before)+", patched with `"+row.patch+"`")
	}
}

// addWarnings gives as examples what is warned of once, or what comes with no other
// example of the same warning.
func addWarnings(t *testing.T, all answers) {
	rows := readRows[risk](t, warningsFile)
	alone := map[string]bool{}
	for _, row := range rows {
		if len(row.Warnings) == 1 {
			alone[row.Warnings[0]] = true
		}
	}
	for _, row := range rows {
		for _, text := range row.Warnings {
			if len(row.Warnings) == 1 || !alone[text] {
				field, _, _ := strings.Cut(text, ":")
				all.add("warnings of "+field, text, example(t, row.Case, row.Name, row.Spec))
			}
		}
	}
}

func addGuards(_ *testing.T, all answers) {
	for _, guard := range guards {
		for _, rule := range guard.rules {
			for _, attempt := range rule.attempts {
				all.add(guard.policy, rule.refusal, attempt.what)
			}
		}
	}
}

// example is what somebody writes, in words and in YAML.
func example(t *testing.T, what, name string, spec map[string]any) string {
	t.Helper()
	text := "spec: " + flow(spec)
	if name != "" {
		text = "metadata: {name: " + name + "}, " + text
	}
	var back map[string]any
	if err := yaml.Unmarshal([]byte(flow(spec)), &back); err != nil || len(back) != len(spec) {
		t.Errorf("%s reads as %v: %v", text, back, err)
	}
	return caseID.ReplaceAllString(what, "") + ": `" + text + "`"
}

// fieldOrder is how people write them.
var fieldOrder = []string{
	"service", "configMapName", "limit", "maxWait", "reclaimAfter", "onReclaim", "enforcement", "queue",
	"capacity", "maxConcurrency", "drainTimeout",
}

var plain = regexp.MustCompile(`^[A-Za-z][-A-Za-z0-9.]*$|^[0-9]+[a-z][-a-z0-9.]*$`)

// flow writes a value as YAML on one line.
func flow(value any) string {
	switch v := value.(type) {
	case map[string]any:
		var parts []string
		for _, key := range fieldOrder {
			if field, ok := v[key]; ok {
				parts = append(parts, key+": "+flow(field))
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case string:
		if plain.MatchString(v) {
			return v
		}
		return fmt.Sprintf("%q", v)
	case nil:
		return "null"
	}
	return fmt.Sprint(value)
}
