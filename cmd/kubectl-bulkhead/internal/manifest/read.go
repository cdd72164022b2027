// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	yamlconv "sigs.k8s.io/yaml"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// Content is what a file holds.
type Content struct {
	// Objects are the ServiceBulkheads, and what was meant to be one.
	Objects []Object
	// Skipped counts the other documents and items of lists.
	Skipped int
	// Faults are what could not be read.
	Faults []Fault
	// Notes are about what can be read, but not as it was meant.
	Notes []Fault
}

// Fault is something wrong with the text of a file.
type Fault struct {
	File    string
	Line    int // from 1; 0 is the whole file
	Message string
}

// Read finds the ServiceBulkheads in the text of a file. name is how the file is
// called in what is said about it.
func Read(name string, text []byte) Content {
	chunks, faults := split(decode(text))
	content := Content{Faults: faults}
	for _, c := range chunks {
		content.add(c)
	}
	slices.SortStableFunc(content.Faults, func(a, b Fault) int { return a.Line - b.Line })
	for i := range content.Objects {
		content.Objects[i].File = name
	}
	for i := range content.Faults {
		content.Faults[i].File = name
	}
	for i := range content.Notes {
		content.Notes[i].File = name
	}
	return content
}

// decode makes UTF-8 of what a byte order mark says is something else, as Windows
// likes to write it, and of what is none, as kubectl does.
func decode(text []byte) []byte {
	decoded, _, err := transform.Bytes(unicode.BOMOverride(unicode.UTF8.NewDecoder()), text)
	if err != nil {
		return text // never: what has no meaning is replaced
	}
	return decoded
}

// add takes the objects of a document in.
func (c *Content) add(from chunk) {
	if note, ok := from.afterTheEnd(); ok {
		c.Notes = append(c.Notes, note)
	}
	raw, err := from.toJSON()
	if err != nil {
		c.Faults = append(c.Faults, from.unreadable(err))
		return
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return // a document of comments
	}
	found, skipped := collect(raw, typeMeta{})
	c.Skipped += skipped
	if len(found) == 0 {
		return
	}
	root := from.root()
	for _, f := range found {
		object := Object{JSON: f.raw, root: f.in(root), line: from.line}
		object.Namespace, object.Name = names(f.raw)
		if !from.json { // which has them as they are
			object.JSON = repeatKeys(f.raw, object.root)
		}
		c.Objects = append(c.Objects, object)
	}
}

// toJSON converts as kubectl does: what it takes for a number or a boolean is one.
func (c chunk) toJSON() ([]byte, error) {
	if c.json {
		return c.text, nil
	}
	return yamlconv.YAMLToJSON(c.text)
}

// typeMeta says what an object is.
type typeMeta struct{ APIVersion, Kind string }

// found is an object with its way from the document's root: the indices into
// lists.
type found struct {
	raw []byte
	way []int
}

const kind = "ServiceBulkhead"

// collect finds what is ours in an object, which may be a list. Items that don't
// say what they are, are what their list says, as for kubectl.
func collect(raw []byte, implied typeMeta) (ours []found, skipped int) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return nil, 1 // no object
	}
	if fields["apiVersion"] == nil && fields["kind"] == nil && implied.ours() {
		raw, fields = implied.writeInto(raw, fields)
	}
	meta := typeMeta{APIVersion: text(fields["apiVersion"]), Kind: text(fields["kind"])}
	if items := meta.items(fields); items != nil {
		return collectItems(items, meta)
	}
	if !meta.ours() {
		return nil, 1
	}
	return []found{{raw: raw}}, 0
}

// items are those of a list; nil means that it is none. Like kubectl it asks for
// items rather than for a kind, except of what is ours.
func (m typeMeta) items(fields map[string]json.RawMessage) (items []json.RawMessage) {
	if strings.EqualFold(m.Kind, kind) || json.Unmarshal(fields["items"], &items) != nil {
		return nil
	}
	return items
}

func collectItems(items []json.RawMessage, list typeMeta) (ours []found, skipped int) {
	implied := typeMeta{APIVersion: list.APIVersion, Kind: strings.TrimSuffix(list.Kind, "List")}
	for i, item := range items {
		more, others := collect(item, implied)
		for _, f := range more {
			f.way = append([]int{i}, f.way...)
			ours = append(ours, f)
		}
		skipped += others
	}
	return ours, skipped
}

// writeInto writes into an object what it is.
func (m typeMeta) writeInto(raw []byte, fields map[string]json.RawMessage) ([]byte, map[string]json.RawMessage) {
	fields["apiVersion"], fields["kind"] = quote(m.APIVersion), quote(m.Kind)
	inner := bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("{"))
	if len(fields) > 2 {
		inner = slices.Concat([]byte(","), inner)
	}
	return slices.Concat([]byte(`{"apiVersion":`), fields["apiVersion"], []byte(`,"kind":`), fields["kind"], inner), fields
}

func quote(s string) json.RawMessage {
	text, _ := json.Marshal(s) // a string always can be
	return text
}

// ours tells whether an object is one of ours, or was meant to be: a misspelt kind
// must not pass because nobody feels responsible for it.
func (m typeMeta) ours() bool {
	group, _, _ := strings.Cut(m.APIVersion, "/")
	return group == v1alpha1.GroupVersion.Group || strings.EqualFold(m.Kind, kind)
}

// text is a JSON string's, and empty for everything else.
func text(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// names are how the object is called, for those who are told about it; whether it
// may be called so is not asked here.
func names(raw []byte) (namespace, name string) {
	var object struct {
		Metadata map[string]json.RawMessage `json:"metadata"`
	}
	if json.Unmarshal(raw, &object) != nil {
		return "", ""
	}
	return text(object.Metadata["namespace"]), text(object.Metadata["name"])
}

// in follows the way to the object; nil where it leads nowhere.
func (f found) in(root *yaml.Node) *yaml.Node {
	for _, i := range f.way {
		_, items := child(root, "items")
		if items == nil || i >= len(items.Content) {
			return nil
		}
		root = follow(items.Content[i])
	}
	return root
}
