// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// FuzzJSONParts: whatever the JSON, its parts are those that encoding/json finds.
func FuzzJSONParts(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, ` { "a" : 1 , "b":[ {"c":"}"} , "\"]" ] ,"a":null,"\u0061":2 } `, `[ 1,-2.5e3 ,true,"\\",{"a":[]} ]`,
		`{"\"":"\\\"","é":{"{":"["}}`, `"x"`, `3`, `null`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		raw := bytes.TrimSpace(text)
		var object map[string]json.RawMessage
		isObject := raw[0] == '{' && json.Unmarshal(raw, &object) == nil
		fields, ok := members(raw)
		if ok != isObject || len(fields) != len(object) {
			t.Fatalf("got %q, want %q", fields, object)
		}
		for name, want := range object {
			if !bytes.Equal(fields[name], want) {
				t.Errorf("%q: got %q, want %q", name, fields[name], want)
			}
		}
		var list []json.RawMessage
		isList := raw[0] == '[' && json.Unmarshal(raw, &list) == nil
		items, ok := elements(raw)
		if ok != isList || len(items) != len(list) {
			t.Fatalf("got %q, want %q", items, list)
		}
		for i, want := range list {
			if !bytes.Equal(items[i], want) {
				t.Errorf("item %d: got %q, want %q", i, items[i], want)
			}
		}
		jsonRoot(raw)
	})
}

// nest puts an object into as many lists.
func nest(object string, lists int) string {
	return strings.Repeat(`{"kind":"List","items":[`, lists) + object + strings.Repeat(`]}`, lists)
}

func TestListsInLists(t *testing.T) {
	const object = `{"kind":"ServiceBulkhead"}`
	if content := Read("file", []byte(nest(object, maxLists))); len(content.Objects) != 1 || len(content.Faults) != 0 {
		t.Errorf("got %+v", content)
	}
	long := `{"kind":"ServiceBulkhead","spec":"` + strings.Repeat("x", 300<<10) + `"}`
	for name, text := range map[string]string{"JSON": nest(long, 4000), "YAML": "\n" + strings.NewReplacer(`"`, "", ":", ": ").Replace(nest(object, 1500))} {
		began := time.Now()
		content := Read("file", []byte(text))
		if len(content.Objects) != 0 || len(content.Faults) != 1 || content.Faults[0].Message != "lists in lists, more than 16 deep, are not looked into" {
			t.Errorf("%s: got %+v", name, content.Faults)
		}
		if took := time.Since(began); took > 5*time.Second { // a copy for each level took 24s
			t.Errorf("%s: took %s", name, took)
		}
	}
}
