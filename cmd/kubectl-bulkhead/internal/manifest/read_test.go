// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"
)

const head = "apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkhead\nmetadata: {name: payments}\n"

// TestLines finds fields, whatever the way in which they are written.
func TestLines(t *testing.T) {
	tests := map[string]struct {
		text string
		path string
		line int
	}{
		"a field":                    {head + "spec:\n  limit: 1\n", "spec.limit", 5},
		"a field of a field":         {head + "spec:\n  queue:\n    capacity: 1\n", "spec.queue.capacity", 6},
		"a missing field":            {head + "spec:\n  queue:\n    capacity: 1\n", "spec.queue.maxConcurrency", 5},
		"a missing parent":           {head + "spec:\n  limit: 1\n", "spec.queue.capacity", 4},
		"nothing of it":              {"# comment\n\n" + head, "spec.limit", 3},
		"the object":                 {"# comment\n---\n# comment\n" + head, "", 4},
		"in braces":                  {head + "spec: {limit: 1,\n  maxWait: 1s}\n", "spec.maxWait", 5},
		"a key in quotes":            {head + "spec:\n  \"limit\": 1\n", "spec.limit", 5},
		"the last of two":            {head + "spec:\n  limit: 1\n  limit: 2\n", "spec.limit", 6},
		"behind an alias":            {head + "x: &x\n  limit: 1\nspec: *x\n", "spec.limit", 5},
		"merged":                     {head + "x: &x\n  limit: 1\nspec:\n  <<: *x\n", "spec.limit", 5},
		"merged, one of a list":      {head + "x: &x\n  limit: 1\ny: &y\n  maxWait: 1s\nspec:\n  <<: [*x, *y]\n", "spec.maxWait", 7},
		"merged and overridden":      {head + "x: &x\n  limit: 1\nspec:\n  <<: *x\n  limit: 2\n", "spec.limit", 8},
		"a label":                    {head + "x:\n  a.b/c: 1\n", "x.a.b/c", 5},
		"a label in brackets":        {head + "x:\n  a.b/c: 1\n", "x[a.b/c]", 5},
		"an item":                    {head + "x:\n- a\n- b: 1\n  c: 2\n", "x[1].c", 7},
		"no such item":               {head + "x:\n- a\n", "x[1]", 4},
		"the second document":        {"a: 1\n---\n\n" + head + "spec:\n  limit: 1\n", "spec.limit", 8},
		"after a comment on ---":     {"a: 1\n--- # next\n" + head + "spec:\n  limit: 1\n", "spec.limit", 7},
		"carriage returns":           {strings.ReplaceAll("a: 1\n---\n"+head+"spec:\n  limit: 1\n", "\n", "\r\n"), "spec.limit", 7},
		"UTF-16":                     {"\xff\xfe" + strings.Join(strings.Split(head+"spec:\n  limit: 1\n", ""), "\x00") + "\x00", "spec.limit", 5},
		"a byte order mark":          {"\ufeff" + head + "spec:\n  limit: 1\n", "spec.limit", 5},
		"an item of a list":          {"kind: List\nitems:\n- kind: Secret\n- kind: ServiceBulkhead\n  spec:\n    limit: 1\n", "spec.limit", 6},
		"an item that is an alias":   {"kind: List\nx: &x\n  kind: ServiceBulkhead\n  spec:\n    limit: 1\nitems:\n- *x\n", "spec.limit", 5},
		"an item of a list's list":   {"kind: List\nitems:\n- kind: List\n  items:\n  - kind: ServiceBulkhead\n    spec:\n      limit: 1\n", "spec.limit", 7},
		"JSON":                       {"{\n\t\"kind\": \"ServiceBulkhead\",\n\t\"spec\": {\n\t\t\"limit\": 1\n\t}\n}\n", "spec.limit", 4},
		"JSON, the second object":    {"{\"kind\": \"Secret\"}\n\n{\"kind\": \"ServiceBulkhead\",\n\"spec\": {}}\n", "spec", 4},
		"JSON, then YAML":            {"{\"kind\": \"Secret\"}\n---\nkind: ServiceBulkhead\nspec: {}\n", "spec", 4},
		"JSON that YAML cannot read": {"\n{\"kind\": \"ServiceBulkhead\",\n\"spec\": \"\\ud83d\\ude00\"}\n", "spec", 3},
		"JSON with slashes escaped":  {"{\n\t\"kind\": \"ServiceBulkhead\",\n\t\"x\": {\"t\": \"x\\/y\"},\n\t\"spec\": {\n\t\t\"limit\": 1\n\t}\n}\n", "spec.limit", 5},
		"JSON, an item of a list":    {"{\"items\": [null,\n[], {\"kind\":\n\"ServiceBulkhead\",\n\"a\": [1,\n2]}]}", "a[1]", 5},
		"JSON, the last of two":      {"{\"kind\": \"ServiceBulkhead\",\n\"a\": 1,\n\"a\": 2}", "a", 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			content := Read("file", []byte(test.text))
			if len(content.Objects) != 1 || len(content.Faults) != 0 {
				t.Fatalf("got %+v", content)
			}
			if line := content.Objects[0].Line(test.path); line != test.line {
				t.Errorf("%s: got line %d, want %d", test.path, line, test.line)
			}
		})
	}
}

// TestUnreadable names the line, and what to do.
func TestUnreadable(t *testing.T) {
	tests := map[string]struct {
		text  string
		line  int
		words string
	}{
		"a tab":                    {"a: 1\n---\nb:\n\tc: 1\n", 4, "a tab in the indentation: YAML takes spaces only"},
		"indented too far":         {"a: 1\n  b: 2\n", 2, "a line that is indented too far"},
		"indented too little":      {"a:\n    b: 1\n  c: 2\n", 3, "most likely the indentation"},
		"a colon in a text":        {"x: 1\na: b: c\n", 2, "text with ': ' in it needs quotes"},
		"a missing colon":          {"a: 1\nb\nc: 1\n", 3, "a line without ': '"},
		"quotes that do not end":   {"a: 1\nb: \"x\n", 2, "quotes or brackets that do not end"},
		"brackets that do not end": {"a: [1,\n 2\n", 2, "did not find expected ',' or ']'"},
		"an at sign":               {"a: 1\nb: @x\n", 2, "text that begins with @"},
		"a template's value":       {"a: 1\n---\nb: 1\nc: {{ .Values.c }}\n", 4, "{{ on line 4 looks like a template"},
		"a template's block":       {"a: 1\n{{- if .Values.b }}\nb: 1\n{{- end }}\n", 3, "{{ on line 2 looks like a template"},
		"an unknown anchor":        {"a: *x\n", 1, "unknown anchor 'x' referenced"},
		"an anchor in itself":      {"a: &x [*x]\n", 1, "anchor 'x' value contains itself"},
		"infinity":                 {"a: .inf\n", 1, "no place in JSON"},
		"text after a separator":   {"a: 1\n--- b\n", 2, `"b" after the separator ---`},
		"JSON that ends too early": {"{\"a\": 1,\n\"b\": [\n\n", 2, "cannot be read as JSON: unexpected EOF"},
		"JSON with a mistake":      {"{\"a\": 1}\n{\"b\": 1}\n{\"c\":\n,}\n", 4, "cannot be read as JSON: invalid character ','"},
		"control characters":       {"a: \x01\n", 1, "control characters are not allowed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			faults := Read("file", []byte(test.text)).Faults
			if len(faults) != 1 {
				t.Fatalf("got %d faults, want one: %v", len(faults), faults)
			}
			if f := faults[0]; f.File != "file" || f.Line != test.line || !strings.Contains(f.Message, test.words) {
				t.Errorf("got %s:%d: %s\nwant line %d, %s", f.File, f.Line, f.Message, test.line, test.words)
			}
		})
	}
}

// TestGoesOn: a document that cannot be read hides no other.
func TestGoesOn(t *testing.T) {
	content := Read("file", []byte("\ta\n---\n"+head+"--- b\n"+head+"---\na: 1\n"))
	if len(content.Objects) != 2 || len(content.Faults) != 2 || content.Skipped != 1 {
		t.Errorf("got %+v", content)
	}
}

func TestWhatIsOurs(t *testing.T) {
	tests := map[string]struct {
		text    string
		objects int
		skipped int
	}{
		"another kind":                   {"apiVersion: v1\nkind: Secret\n", 0, 1},
		"no object":                      {"[{kind: ServiceBulkhead}]\n", 0, 1},
		"another kind of the group":      {"apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkheads\n", 1, 0},
		"another version":                {"apiVersion: servicebulkhead.io/v1\nkind: ServiceBulkhead\n", 1, 0},
		"another group":                  {"apiVersion: servicebulkheads.io/v1alpha1\nkind: ServiceBulkhead\n", 1, 0},
		"a kind in small letters":        {"kind: servicebulkhead\n", 1, 0},
		"a group without a kind":         {"apiVersion: servicebulkhead.io/v1alpha1\n", 1, 0},
		"another group's name ours ends": {"apiVersion: my.servicebulkhead.io/v1\nkind: Other\n", 0, 1},
		"the CRD":                        {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {names: {kind: ServiceBulkhead}}\n", 0, 1},
		"comments only":                  {"# nothing\n---\n\n---\n", 0, 0},
		"a list":                         {"kind: List\nitems: [{kind: ServiceBulkhead}, {kind: Secret}, null, 1]\n", 1, 3},
		"a list of none":                 {"kind: List\nitems: []\n", 0, 0},
		"a list that is none":            {"kind: List\nitems: 1\n", 0, 1},
		"a list of ours, of anything":    {"apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkheadList\nitems: [null, 3, [], {kind: Secret}, {}]\n", 5, 0},
		"ours with items":                {"kind: ServiceBulkhead\nitems: []\n", 1, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			content := Read("file", []byte(test.text))
			if len(content.Objects) != test.objects || content.Skipped != test.skipped || len(content.Faults) != 0 {
				t.Errorf("got %+v, want %d objects and %d skipped", content, test.objects, test.skipped)
			}
		})
	}
}

// TestJSON is what the rules are asked about.
func TestJSON(t *testing.T) {
	tests := map[string]struct{ text, json string }{
		"YAML 1.1":                    {"kind: ServiceBulkhead\na: yes\nb: 010\nc: 1_000\nd: 2.0\ne: ~\n", `{"a":true,"b":8,"c":1000,"d":2,"e":null,"kind":"ServiceBulkhead"}`},
		"merge keys":                  {"kind: ServiceBulkhead\na: &a {b: 1, c: 1}\nd: {<<: *a, c: 2}\n", `{"a":{"b":1,"c":1},"d":{"b":1,"c":2},"kind":"ServiceBulkhead"}`},
		"keys that stand twice":       {"kind: ServiceBulkhead\nspec: {a: 1, a: 2}\n", `{"kind":"ServiceBulkhead","spec":{"a":2,"a":2}}`},
		"an object that stands twice": {"kind: ServiceBulkhead\nspec: {a: 1}\nspec: {b: 1}\n", `{"kind":"ServiceBulkhead","spec":{"b":1},"spec":{"b":1}}`},
		"twice, in a list":            {"kind: ServiceBulkhead\nx: [{}, {a: 1, a: 123456789012345678}]\n", `{"kind":"ServiceBulkhead","x":[{},{"a":123456789012345678,"a":123456789012345678}]}`},
		"twice, behind an alias":      {"kind: ServiceBulkhead\nx: &x {a: 1, a: 2}\nz: *x\n", `{"kind":"ServiceBulkhead","x":{"a":2,"a":2},"z":{"a":2,"a":2}}`},
		"JSON stays as it is":         {`{"kind": "ServiceBulkhead", "a": 1.0, "a": 2}`, `{"kind": "ServiceBulkhead", "a": 1.0, "a": 2}`},
		"an item says what it is":     {"kind: ServiceBulkheadList\nitems: [{kind: ServiceBulkhead, a: 1}]\n", `{"a":1,"kind":"ServiceBulkhead"}`},
		"an item is what its list is": {"apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkheadList\nitems: [{a: 1}]\n", `{"apiVersion":"servicebulkhead.io/v1alpha1","kind":"ServiceBulkhead","a":1}`},
		"an item of nothing":          {"apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkheadList\nitems: [{}]\n", `{"apiVersion":"servicebulkhead.io/v1alpha1","kind":"ServiceBulkhead"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			content := Read("file", []byte(test.text))
			if len(content.Objects) != 1 {
				t.Fatalf("got %+v", content)
			}
			if got := string(content.Objects[0].JSON); got != test.json {
				t.Errorf("got  %s\nwant %s", got, test.json)
			}
		})
	}
}

func TestNotes(t *testing.T) {
	tests := map[string]struct {
		text string
		line int // 0: nothing to say
	}{
		"an end":                {"a: 1\n...\n", 0},
		"an end, then comments": {"a: 1\n...\n# the end\n", 0},
		"an end, then a dash":   {"a: 1\n...\n---\nb: 1\n", 0},
		"more after the end":    {"a: 1\n---\nb: 1\n...\nc: 1\n", 4},
		"a mess after the end":  {"a: 1\n...\nb: [\n", 2},
		"dots in a text":        {"a: |\n  b\n  ...\n  c\n", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			line := 0
			for _, note := range Read("file", []byte(test.text)).Notes {
				line = note.Line
			}
			if line != test.line {
				t.Errorf("got a note on line %d, want %d", line, test.line)
			}
		})
	}
}
