// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the golden files")

// bulkhead is the beginning of a manifest, of which the spec is to follow.
const bulkhead = "apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkhead\nmetadata: {name: payments}\n"

const (
	fine  = bulkhead + "spec: {limit: 1, reclaimAfter: 30s}\n"
	risky = bulkhead + "spec: {limit: 0, reclaimAfter: 30s}\n"
	wrong = bulkhead + "spec: {limit: -1, reclaimAfter: 30s}\n"
	other = "apiVersion: v1\nkind: Secret\nmetadata: {name: other}\n"
)

func run(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = Run(args, strings.NewReader(stdin), &out, &err)
	return code, out.String(), err.String()
}

// TestOutput compares what is printed with the golden files.
func TestOutput(t *testing.T) {
	for format, golden := range map[string]string{"text": "shop.txt", "json": "shop.json"} {
		t.Run(format, func(t *testing.T) {
			code, stdout, stderr := run("", "validate", "-R", "-f", "testdata/shop", "-o", format)
			if code != codeStuck {
				t.Errorf("got exit code %d, want %d for the template", code, codeStuck)
			}
			if want := "checked 5 ServiceBulkheads, skipped 2 other objects: 6 errors, 2 warnings, 1 unreadable\n"; stderr != want {
				t.Errorf("stderr: got %q, want %q", stderr, want)
			}
			compare(t, filepath.Join("testdata", golden), stdout)
		})
	}
}

func compare(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant, as in %s,\n%s", got, golden, want)
	}
}

func TestExitCodes(t *testing.T) {
	tests := map[string]struct {
		stdin  string
		args   string
		code   int
		stdout string // part of it
		stderr string // part of it
	}{
		"nothing is wrong":           {fine, "validate -f -", 0, "", "checked 1 ServiceBulkhead, skipped 0 other objects: nothing to say"},
		"a warning":                  {risky, "validate -f -", 0, "<stdin>:4: warning: ServiceBulkhead payments: spec.limit: 0 is", "0 errors, 1 warning"},
		"a warning, strictly":        {risky, "validate -f - --warnings-as-errors", 1, "warning", "0 errors, 1 warning"},
		"a wrong object":             {wrong, "validate -f -", 1, "<stdin>:4: ServiceBulkhead payments: spec.limit: Invalid value: -1", "1 error, 0 warnings"},
		"a namespace for the others": {wrong, "validate -f - -n shop", 1, "ServiceBulkhead shop/payments: ", ""},
		"unreadable":                 {"a:\n\tb", "validate -f -", 2, "<stdin>:2: cannot be read as YAML: ", "1 unreadable"},
		"unreadable and wrong":       {wrong + "---\n\ta", "validate -f -", 2, "spec.limit", "1 error, 0 warnings, 1 unreadable"},
		"other kinds only":           {other, "validate -f -", 2, "", "no ServiceBulkhead in the input"},
		"other kinds, allowed":       {other, "validate -f - --allow-empty", 0, "", "skipped 1 other object"},
		"nothing at all":             {"", "validate -f -", 2, "", "no ServiceBulkhead in the input"},
		"nothing at all, as JSON":    {"", "validate -f - -o json --allow-empty", 0, `"findings": []`, ""},
		"unreadable, empty allowed":  {"\t", "validate -f - --allow-empty", 2, "cannot be read as YAML", ""},
		"one file is missing":        {fine, "validate -f - -f testdata/none.yaml", 2, "testdata/none.yaml: no such file or directory", "checked 1"},
		"an empty name":              {"", "validate --filename=", 2, "", "error: -f: an empty name"},
		"a remote file":              {"", "validate -f https://example.com/a.yaml", 2, "", "error: -f: https://example.com/a.yaml: only files are read; fetch it, and pipe it into -f -"},
		"no files":                   {"", "validate", 2, "", "error: -f: say which files"},
		"stdin twice":                {"", "validate -f - -f -", 2, "", "error: -f: stdin can be read only once"},
		"an argument":                {"", "validate testdata", 2, "", `error: unknown command "testdata"`},
		"an unknown flag":            {"", "validate --colour", 2, "", "error: unknown flag: --colour"},
		"an unknown format":          {"", "validate -f - -o xml", 2, "", `error: -o: "xml": must be text or json`},
		"an unknown command":         {"", "verify", 2, "", `error: unknown command "verify"`},
		"help":                       {"", "validate --help", 0, "Exit codes:", ""},
		"help without a command":     {"", "", 0, "kubectl bulkhead [command]", ""},
		"version":                    {"", "version", 0, "kubectl-bulkhead ", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := run(test.stdin, strings.Fields(test.args)...)
			if code != test.code {
				t.Errorf("got exit code %d, want %d", code, test.code)
			}
			if !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) {
				t.Errorf("got stdout %q and stderr %q", stdout, stderr)
			}
		})
	}
}

// TestNoControlCharacters: what a manifest says must not reach a terminal as a
// command, nor a log as a line of its own.
func TestNoControlCharacters(t *testing.T) {
	manifest := `{"apiVersion":"servicebulkhead.io/v1alpha1","kind":"ServiceBulkhead","metadata":{"name":"a\u001b[31m\r\nfake.yaml:1: ok\u009b\u202eb"},` +
		`"spec":{"limit":-1,"reclaimAfter":"30s","a\u001b\u0007":1}}`
	_, stdout, _ := run(manifest, "validate", "-f", "-", "-n", "shop")
	const want = `<stdin>:1: ServiceBulkhead shop/a\x1b[31m\r fake.yaml:1: ok\u009b\u202eb: spec.a\x1b\a: Forbidden: unknown field`
	if !strings.HasPrefix(stdout, want) || strings.Count(stdout, "\n") != 1 {
		t.Errorf("got %q, want %q", stdout, want)
	}
}

// TestLongNames: a line is for people, whatever is in the file.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	manifest := `{"apiVersion":"servicebulkhead.io/v1alpha1","kind":"ServiceBulkhead","metadata":{"name":"` + long + `","labels":{"` + long + `":1}}}`
	_, stdout, _ := run(manifest, "validate", "-f", "-")
	for line := range strings.Lines(stdout) {
		if len(line) > 6000 || !utf8.ValidString(line) || !strings.Contains(line, "ServiceBulkhead é") || !strings.Contains(line, "é…: ") {
			t.Errorf("got %d bytes: %.200q", len(line), line)
		}
	}
	if stdout == "" {
		t.Error("got nothing")
	}
}

func TestInputWithoutAnEnd(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := Run([]string{"validate", "-f", "-"}, endless{}, &stdout, &stderr)
	if code != codeStuck || stdout.String() != "<stdin>: larger than 64 MiB: check it in parts\n" {
		t.Errorf("got exit code %d, %q", code, stdout.String())
	}
}

// endless never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestQuietWhenFine: what is piped on must be empty when nothing is found.
func TestQuietWhenFine(t *testing.T) {
	if _, stdout, _ := run(fine, "validate", "-f", "-"); stdout != "" {
		t.Errorf("got %q", stdout)
	}
}

func TestFullDisk(t *testing.T) {
	var stderr bytes.Buffer
	code := Run([]string{"validate", "-f", "-"}, strings.NewReader(wrong), full{}, &stderr)
	if code != codeStuck || !strings.Contains(stderr.String(), "error: print findings: "+os.ErrClosed.Error()) {
		t.Errorf("got exit code %d, stderr %q", code, stderr.String())
	}
}

// full takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestSamples(t *testing.T) {
	samples := "../../../../config/samples"
	if code, stdout, stderr := run("", "validate", "-R", "-f", samples); code != codeFine || !strings.HasPrefix(stderr, "checked 2 ") {
		t.Errorf("got exit code %d, %s%s", code, stdout, stderr)
	}
}

// FuzzValidate: whatever is read, there is an exit code.
func FuzzValidate(f *testing.F) {
	for _, seed := range []string{fine, risky, wrong, other, "", "{", "[]", "a: &a [*a]", "\ufeff" + fine, fine + "...\n" + wrong,
		"kind: List\nitems: [{kind: ServiceBulkhead, spec: &s {limit: 1, limit: 2}}, {kind: ServiceBulkhead, spec: *s}]",
		"apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkheadList\nitems: [{}, [], null, {metadata: {name: {}}}]",
		bulkhead + "spec: {<<: [{limit: 1}, *x]}", `{"kind":"ServiceBulkhead"}{"kind":"ServiceBulkhead"}---`, "--- x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		code, stdout, stderr := run(text, "validate", "-f", "-")
		if code < codeFine || code > codeStuck {
			t.Fatalf("got exit code %d", code)
		}
		if code != codeFine && stdout == "" && !strings.Contains(stderr, "error: ") {
			t.Fatalf("got exit code %d without a word why", code)
		}
	})
}
