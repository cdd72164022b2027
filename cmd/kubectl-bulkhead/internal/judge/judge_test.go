// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/servicebulkhead/servicebulkhead/cmd/kubectl-bulkhead/internal/manifest"
)

// write makes the manifest of a bulkhead that is right by itself, of four lines.
func write(namespace, name, spec string) string {
	return fmt.Sprintf("apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkhead\nmetadata: {name: %s, namespace: %s}\n"+
		"spec: {limit: 1, reclaimAfter: 30s%s}\n---\n", name, namespace, spec)
}

// TestTogether judges files together.
func TestTogether(t *testing.T) {
	tests := map[string]struct {
		files     []string
		namespace string
		want      []string // file:line field, and a part of the message
	}{
		"nothing in common": {files: []string{write("shop", "a", "") + write("shop", "b", "")}},
		"one name in two namespaces": {files: []string{
			write("shop", "a", "") + write("mall", "a", "") + write("", "a", "")}},
		"one name twice": {
			files: []string{write("shop", "a", ""), write("shop", "b", "") + write("shop", "a", "")},
			want:  []string{`2.yaml:8 metadata.name Duplicate value: "a": the other is at 1.yaml:1, and`},
		},
		"one name three times": {
			files: []string{write("shop", "a", "") + write("shop", "a", "") + write("shop", "a", "")},
			want:  []string{`1.yaml:8 metadata.name Duplicate value: "a": the other is at 1.yaml:1, and`, `1.yaml:13 metadata.name Duplicate`},
		},
		"one name twice, once it is implied": {
			files: []string{write("shop", "a", "") + write("", "a", "")}, namespace: "shop",
			want: []string{`1.yaml:8 metadata.name Duplicate value: "a": the other is at 1.yaml:1, and`},
		},
		"one service twice": {
			files: []string{write("shop", "b", ", service: a"), write("shop", "a", "")},
			want:  []string{"1.yaml:4 spec.service " + `Duplicate value: "a": service a belongs to ServiceBulkhead a in ConfigMap service-bulkheads: delete one of the two; the other is at 2.yaml:1`},
		},
		"one service in two ConfigMaps": {
			files: []string{write("shop", "b", ", service: a, configMapName: b-bulkheads"), write("shop", "a", "")}},
		"one service in two namespaces": {
			files: []string{write("mall", "b", ", service: a"), write("shop", "a", "")}},
		"one service, once the namespace is implied": {
			files: []string{write("", "b", ", service: a"), write("shop", "a", "")}, namespace: "shop",
			want: []string{`1.yaml:4 spec.service Duplicate value: "a"`},
		},
		"what cannot be read takes no part": {
			files: []string{write("shop", "[]", ", service: a"), write("shop", "a", "")},
			want:  []string{"1.yaml:3 metadata.name Invalid value"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var contents []manifest.Content
			for i, text := range test.files {
				contents = append(contents, manifest.Read(fmt.Sprintf("%d.yaml", i+1), []byte(text)))
			}
			report := Judge(contents, test.namespace)
			var got []string
			for _, f := range report.Findings {
				got = append(got, fmt.Sprintf("%s:%d %s %s", f.File, f.Line, f.Field, f.Message))
			}
			if !slices.EqualFunc(got, test.want, strings.HasPrefix) || report.Errors != len(test.want) {
				t.Errorf("got %d errors\n%s\nwant\n%s", report.Errors, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// TestDocumentFull: at most 512 bulkheads fit into one ConfigMap.
func TestDocumentFull(t *testing.T) {
	var text strings.Builder
	for i := range 513 {
		text.WriteString(write("shop", fmt.Sprintf("s%03d", i), ""))
	}
	report := Judge([]manifest.Content{manifest.Read("file", []byte(text.String()))}, "")
	if len(report.Findings) != 1 || report.Checked != 513 {
		t.Fatalf("got %d findings of %d objects", len(report.Findings), report.Checked)
	}
	if f := report.Findings[0]; f.Name != "s512" || f.Field != "spec.configMapName" || !strings.Contains(f.Message, "512 bulkheads, the most that fit") {
		t.Errorf("got %+v", f)
	}
}

// TestEverythingAtOnce: rules, rules of the whole set and warnings are told in the
// order of the lines, each with its severity.
func TestEverythingAtOnce(t *testing.T) {
	text := "a: [\n---\n" + write("shop", "a", ", maxWait: 5m") + write("shop", "a", ", maxWait: 2s") + "b: 1\n...\nc: 1\n"
	report := Judge([]manifest.Content{manifest.Read("file", []byte(text))}, "")
	var got []string
	for _, f := range report.Findings {
		got = append(got, fmt.Sprintf("%d %s %s", f.Line, f.Severity, f.Field))
	}
	want := []string{"1 unreadable ", "6 error spec.maxWait", "10 error metadata.name", "11 warning spec.maxWait", "14 warning "}
	if !slices.Equal(got, want) || report.Errors != 2 || report.Warnings != 2 || report.Unreadable != 1 || report.Checked != 2 || report.Skipped != 1 {
		t.Errorf("got %q, want %q, and %+v", got, want, report)
	}
}

// TestHints: where the API server speaks of types, who writes YAML needs to know what
// to write.
func TestHints(t *testing.T) {
	tests := map[string]string{ // from the spec to the end of the first message
		`limit: "25", reclaimAfter: 30s`:                                    ` (write 25 without quotes)`,
		`limit: twenty, reclaimAfter: 30s`:                                  ` (write a whole number, such as 25)`,
		`limit: yes, reclaimAfter: 30s`:                                     ` (write a whole number, such as 25)`,
		`limit: 2.5, reclaimAfter: 30s`:                                     ` (write a whole number, such as 25)`,
		`limit: 1, reclaimAfter: 30`:                                        ` (write it with its unit: 30s, or 30ms)`,
		`limit: 1, reclaimAfter: 30s, maxWait: 0`:                           ` (write 0s)`,
		`limit: 1, reclaimAfter: 30s, drainTimeout: 1.5`:                    ` (put it in quotes, if it is meant)`,
		`limit: 1, reclaimAfter: 30s, service: no`:                          ` (put it in quotes, if it is meant)`,
		`limit: 1, reclaimAfter: 30s, queue: 64`:                            ` (write an object, such as {capacity: 64})`,
		`limit: "{{ .Values.l }}", reclaimAfter: 30s`:                       ` (this looks like a template: check what it renders)`,
		`limit: 1, reclaimAfter: "{{ .Values.r }}"`:                         ` (this looks like a template: check what it renders)`,
		`limit: 1, reclaimAfter: 1d`:                                        `and 0 needs a unit too (0s)`,
		`limit: -1, reclaimAfter: 30s`:                                      `greater than or equal to 0`,
		`limit: 1, reclaimAfter: 30s, enforcement: shadow`:                  `supported values: "Enforce", "Shadow"`,
		`limit: 1, reclaimAfter: 30s, queue: {capacity: [1]}`:               ` (write a whole number, such as 25)`,
		`limit: 1, reclaimAfter: 30s, service: {a: 1}`:                      `unknown field`,
		`limit: 1, reclaimAfter: 30s, configMapName: [], service: payments`: `must be of type string: "array"`,
	}
	for spec, want := range tests {
		text := "apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkhead\nmetadata: {name: a}\nspec: {" + spec + "}\n"
		report := Judge([]manifest.Content{manifest.Read("file", []byte(text))}, "")
		if len(report.Findings) == 0 || !strings.HasSuffix(report.Findings[len(report.Findings)-1].Message, want) {
			t.Errorf("%s: got %+v, want %q", spec, report.Findings, want)
		}
	}
}

// TestLabels: each label whose value is no string is told, where it stands.
func TestLabels(t *testing.T) {
	text := "apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkhead\nmetadata:\n  name: a\n  labels:\n    version: 1.0\n" +
		"    example.com/on-call: true\nspec: {limit: 1, reclaimAfter: 30s}\n"
	var got []string
	for _, f := range Judge([]manifest.Content{manifest.Read("file", []byte(text))}, "").Findings {
		got = append(got, fmt.Sprintf("%d %s: %s", f.Line, f.Field, f.Message))
	}
	want := []string{
		"6 metadata.labels[version]: Invalid value: must be of type string: is number; put it in quotes",
		"7 metadata.labels[example.com/on-call]: Invalid value: must be of type string: is boolean; put it in quotes",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOctals: YAML 1.1 reads what begins with 0 as octal, people don't.
func TestOctals(t *testing.T) {
	tests := map[string]string{
		"010":   "010 is read as 8: a leading 0 makes it octal; write 8, or 10 if that is meant",
		"0010":  "0010 is read as 8: a leading 0 makes it octal; write 8, or 10 if that is meant",
		"0":     "",
		"00":    "",
		"07":    "",
		"08":    "", // not octal, so 8
		"10":    "",
		"0x10":  "",
		`"010"`: "",
	}
	for text, want := range tests {
		manifests := "kind: ServiceBulkhead\nspec:\n  queue: {capacity: " + text + "}\n"
		report := Judge([]manifest.Content{manifest.Read("file", []byte(manifests))}, "")
		var got string
		for _, f := range report.Findings {
			if f.Severity == Warning && f.Field == "spec.queue.capacity" && f.Line == 3 {
				got += f.Message
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
