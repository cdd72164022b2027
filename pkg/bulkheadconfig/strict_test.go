// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package bulkheadconfig

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const golden = "testdata/bulkheads.v1.json"

// The golden file stands for the format: the fields of every type are in it, and
// it decodes to the values that it was written from. What agents of this version
// read must be read by those of every later one.
func TestGoldenFileHasEveryField(t *testing.T) {
	text := readGolden(t)
	doc, err := Decode(text)
	if err != nil || len(doc.Unknown) > 0 {
		t.Fatalf("unknown: %v; %v", doc.Unknown, err)
	}
	want := sample()
	for name, s := range want {
		s.OnReclaim, s.Enforcement = orDefault(s.OnReclaim, Cancel), orDefault(s.Enforcement, Enforce)
		want[name] = s
	}
	if !reflect.DeepEqual(doc.Services, want) || doc.Revision != Revision(want) {
		t.Errorf("got %+v, want %+v", doc, want)
	}
	for _, of := range []reflect.Type{reflect.TypeFor[wireDocument](), reflect.TypeFor[wireService](), reflect.TypeFor[wireQueue]()} {
		for field := range of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !strings.Contains(string(text), `"`+name+`": `) {
				t.Errorf("%s.%s is not in the golden file", of.Name(), name)
			}
		}
	}
}

// wrong are values of other types, by what belongs there.
var wrong = map[string][]string{
	"a whole number":       {`"25"`, `""`, "null", "true", "[]", "[25]", "{}", "0.5", "1e400"},
	"a string":             {"25", "null", "true", "[]", `["x"]`, "{}"},
	"a duration in quotes": {"25", "null", "true", "[]", `["1s"]`, "{}"},
	"an object":            {"25", `"x"`, "null", "true", "[]", "[{}]"},
}

// Every field of the golden file, with every wrong type, is refused by its name.
func TestDecodeRefusesEveryWrongType(t *testing.T) {
	document := tree(t)
	for _, path := range paths(document) {
		belongs := what(path, document)
		for _, value := range wrong[belongs] {
			text := write(document, path, func(key, _ string) string { return key + value })
			_, err := Decode([]byte(text))
			if err == nil || !strings.HasPrefix(err.Error(), inWords(path)+": ") || !strings.Contains(err.Error(), "must be "+belongs) {
				t.Errorf("%s with %s: got %v, want must be %s", inWords(path), value, err, belongs)
			}
		}
	}
}

// No key may stand twice in one object, however deep, in what is known and in what
// is not, with equal values or different ones.
func TestDecodeRefusesEveryDuplicateKey(t *testing.T) {
	document := tree(t)
	document["new"] = map[string]any{"deep": []any{map[string]any{"deeper": map[string]any{"deepest": 1.0}}}}
	all := append(paths(document), "new/deep/0/deeper", "new/deep/0/deeper/deepest")
	for _, path := range all {
		for _, again := range []string{"", "null"} {
			text := write(document, path, func(key, value string) string { return key + value + "," + key + cmp.Or(again, value) })
			key := path[strings.LastIndexByte(path, '/')+1:]
			if _, err := Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("duplicate key %q in ", key)) {
				t.Errorf("%s twice: got %v", path, err)
			}
		}
	}
}

// A document that is cut off anywhere, or followed by anything, is refused.
func TestDecodeRefusesEveryCutAndWhatFollows(t *testing.T) {
	text := readGolden(t)
	whole := strings.TrimRight(string(text), "\n")
	for n := range len(whole) {
		if doc, err := Decode([]byte(whole[:n])); err == nil {
			t.Errorf("cut off after %d bytes: %+v", n, doc)
		}
	}
	for _, follows := range []string{"x", "{}", "null", "\n\n{", ",", "]", "}", "\x00", "\ufeff", "// a comment"} {
		if doc, err := Decode([]byte(whole + follows)); err == nil {
			t.Errorf("followed by %q: %+v", follows, doc)
		}
	}
	if _, err := Decode([]byte("\ufeff" + whole)); err == nil {
		t.Error("after a byte order mark")
	}
	if _, err := Decode([]byte(" \t" + whole + " \r\n")); err != nil {
		t.Errorf("between white space: %v", err)
	}
}

// In every object of the golden file, a field that nobody knows is read over and
// counted, and changes nothing else.
func TestDecodeCountsUnknownFieldsEverywhere(t *testing.T) {
	document := tree(t)
	want, err := Decode(readGolden(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(paths(document), "") {
		if what(path, document) != "an object" || path == "services" { // whose fields are names
			continue
		}
		for _, value := range []string{"1", `"x"`, "null", `[{"a":{}}]`, `{"limit":"x"}`} {
			text := write(document, path, func(key, object string) string {
				return key + strings.Replace(object, "{", `{"new":`+value+`,`, 1)
			})
			doc, err := Decode([]byte(text))
			unknown := strings.TrimPrefix(inWords(path)+".new", ".")
			if err != nil || !slices.Equal(doc.Unknown, []string{unknown}) || !reflect.DeepEqual(doc.Services, want.Services) {
				t.Errorf("%s = %s: unknown %v, %v", unknown, value, doc.Unknown, err)
			}
		}
	}
}

func readGolden(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// tree is the golden file, as JSON knows it.
func tree(t *testing.T) (document map[string]any) {
	t.Helper()
	if err := json.Unmarshal(readGolden(t), &document); err != nil {
		t.Fatal(err)
	}
	return document
}

// paths lists every member of a tree, such as services/payments/limit.
func paths(object map[string]any) (all []string) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		all = append(all, key)
		if child, ok := object[key].(map[string]any); ok {
			for _, path := range paths(child) {
				all = append(all, key+"/"+path)
			}
		}
	}
	return all
}

// what belongs at a path of the golden file.
func what(path string, document map[string]any) string {
	var value any = document
	for key := range strings.SplitSeq(path, "/") {
		if object, ok := value.(map[string]any); ok && key != "" {
			value = object[key]
		}
	}
	switch value.(type) {
	case map[string]any:
		return "an object"
	case float64:
		return "a whole number"
	}
	if strings.HasSuffix(path, "Wait") || strings.HasSuffix(path, "After") || strings.HasSuffix(path, "Timeout") {
		return "a duration in quotes"
	}
	return "a string"
}

// inWords is a path as errors write it.
func inWords(path string) string {
	parts := strings.Split(path, "/")
	if parts[0] != "services" || len(parts) == 1 {
		return path
	}
	return strings.Join(append([]string{servicePath(parts[1])}, parts[2:]...), ".")
}

// write renders a tree, with what a function makes of the member at a path: its
// key, colon included, and its value. The path "" is the tree itself.
func write(tree any, path string, change func(key, value string) string) string {
	if path == "" {
		return change("", write(tree, "-", nil))
	}
	var members []string
	open, shut := "{", "}"
	member := func(key, label string, value any) {
		first, rest, deeper := strings.Cut(path, "/")
		switch {
		case first != key:
			members = append(members, label+write(value, "-", nil))
		case deeper:
			members = append(members, label+write(value, rest, change))
		default:
			members = append(members, change(label, write(value, "-", nil)))
		}
	}
	switch v := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			member(key, fmt.Sprintf("%q:", key), v[key])
		}
	case []any:
		open, shut = "[", "]"
		for i, item := range v {
			member(fmt.Sprint(i), "", item)
		}
	default:
		text, err := json.Marshal(v)
		if err != nil {
			panic(err) // it came from JSON
		}
		return string(text)
	}
	return open + strings.Join(members, ",") + shut
}
