// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// streams are files as people write them, and as they should not.
var streams = []string{
	"", "\n", "---", "---\n---\n", "a: 1", "a: 1\n---\nb: 2\n", "# only a comment\n", "---\n# comment\n---\na: 1\n--- # end\n",
	"a: 1\r\n---\r\nb: 2\r\n", "\ufeffa: 1\n---\nb: 2\n", "\ufeff---\na: 1\n", "a: 1\n--- b\nc: 2\n", "a: |\n  ---\n  text\n---\nb: 1\n", "----\n",
	`{"a":1}`, `{"a":1}{"b":2}`, "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n", "{\"a\":1}\n---\n{\"b\":2}\n---\nc: 3\n", "{\"a\":1}{\"b\":2}---\n{\"c\":3}",
	"{a: 1}", "{a: 1}\n---\n{\"b\": 2}\n", `{"a":1} ---`, "{\"a\":1}  \n\nb: 2\n", `{"a":`, `{"a":1,}`, "{\"a\":1}\xff", "  {\"a\": 1}", "[1, 2]", "foo", "null", "~\n---\na: 1\n",
	"a: 1\n...\nb: 2\n", "%YAML 1.1\n---\na: 1\n", "a: yes\nb: 010\nc: 1e3\n", "a: 1\na: 2\n", "a: &x {b: 1}\nc: {<<: *x}\n", "a: *x\n", "a: &a [*a]\n", "a: .inf\n",
	"a:\n\tb: 1\n", "a: {{ .Values.a }}\n", "{{ if .a }}\na: 1\n{{ end }}\n", "\xff\xfea\x00:\x00", "a: \x01\n",
	"---#0", "\xff\xfe\r", "{a}", "{a: 1}\xff\xff\xff\xff", // found by fuzzing
}

// kubectl reads a file as kubectl apply does: whole tells whether it came to the
// end.
func kubectl(text []byte) (documents [][]byte, whole bool) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), jsonWindow)
	for {
		var document runtime.RawExtension
		if err := decoder.Decode(&document); err != nil {
			return documents, errors.Is(err, io.EOF)
		}
		if raw := bytes.TrimSpace(document.Raw); len(raw) > 0 && string(raw) != "null" {
			documents = append(documents, raw)
		}
	}
}

// ours reads a file as Read does.
func ours(text []byte) (documents [][]byte, whole bool) {
	chunks, faults := split(text)
	whole = len(faults) == 0
	for _, c := range chunks {
		raw, err := c.toJSON()
		if err != nil {
			whole = false
		} else if raw = bytes.TrimSpace(raw); len(raw) > 0 && string(raw) != "null" {
			documents = append(documents, raw)
		}
	}
	return documents, whole
}

// FuzzLikeKubectl: we read what kubectl reads, and where it stops there is a
// fault. After that we may see more.
func FuzzLikeKubectl(f *testing.F) {
	for _, text := range streams {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if last := text[bytes.LastIndexByte(text, '\n')+1:]; len(last) > 0 && len(last)%jsonWindow == 0 {
			return // kubectl, whose buffer is of that size too, loses such a last line
		}
		want, whole := kubectl(text)
		got, gotWhole := ours(text)
		if gotWhole != whole {
			t.Fatalf("read to the end: %v, kubectl: %v", gotWhole, whole)
		}
		if len(got) < len(want) || whole && len(got) != len(want) {
			t.Fatalf("got %q, kubectl %q", got, want)
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("document %d: got %q, kubectl %q", i, got[i], want[i])
			}
		}
	})
}
