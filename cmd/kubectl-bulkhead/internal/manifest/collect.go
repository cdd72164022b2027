// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// typeMeta says what an object is.
type typeMeta struct{ APIVersion, Kind string }

// found is an object with its way from the document's root: the indices into
// lists.
type found struct {
	raw []byte
	way []int
}

// collection is what is in a document.
type collection struct {
	ours    []found
	skipped int
	deep    bool // there are lists that were not looked into
}

const (
	kind = "ServiceBulkhead"
	// maxLists is how deep lists may stand in lists. Nobody writes more than two.
	maxLists = 16
)

// collect finds what is ours in an object, which may be a list. Items that don't
// say what they are, are what their list says, as for kubectl, and so are those that
// say something else: of a list of ours kubectl accepts nothing else.
func (c *collection) collect(raw []byte, implied typeMeta, way []int) {
	fields, _ := members(raw)
	if fields != nil && fields["apiVersion"] == nil && fields["kind"] == nil && implied.ours() {
		raw, fields = implied.writeInto(raw, fields)
	}
	meta := typeMeta{APIVersion: text(fields["apiVersion"]), Kind: text(fields["kind"])}
	if items, ok := meta.items(fields); ok {
		c.collectItems(items, meta, way)
		return
	}
	if meta.ours() || implied.ours() {
		c.ours = append(c.ours, found{raw: raw, way: slices.Clone(way)})
		return
	}
	c.skipped++
}

// items are those of a list. Like kubectl it asks for items rather than for a kind,
// except of what is ours.
func (m typeMeta) items(fields map[string][]byte) (items [][]byte, ok bool) {
	if strings.EqualFold(m.Kind, kind) {
		return nil, false
	}
	return elements(fields["items"])
}

func (c *collection) collectItems(items [][]byte, list typeMeta, way []int) {
	if len(way) == maxLists {
		c.deep = true
		return
	}
	implied := typeMeta{APIVersion: list.APIVersion, Kind: strings.TrimSuffix(list.Kind, "List")}
	for i, item := range items {
		c.collect(item, implied, append(way, i))
	}
}

// writeInto writes into an object what it is.
func (m typeMeta) writeInto(raw []byte, fields map[string][]byte) ([]byte, map[string][]byte) {
	fields["apiVersion"], fields["kind"] = quote(m.APIVersion), quote(m.Kind)
	inner := bytes.TrimPrefix(raw, []byte("{"))
	if len(fields) > 2 {
		inner = slices.Concat([]byte(","), inner)
	}
	return slices.Concat([]byte(`{"apiVersion":`), fields["apiVersion"], []byte(`,"kind":`), fields["kind"], inner), fields
}

func quote(s string) []byte {
	text, _ := json.Marshal(s) // a string always can be
	return text
}

// ours tells whether an object is one of ours, or was meant to be: a misspelt kind
// must not pass because nobody feels responsible for it.
func (m typeMeta) ours() bool {
	group, _, _ := strings.Cut(m.APIVersion, "/")
	return group == v1alpha1.GroupVersion.Group || strings.EqualFold(m.Kind, kind)
}

// names are how the object is called, for those who are told about it; whether it
// may be called so is not asked here.
func names(raw []byte) (namespace, name string) {
	object, _ := members(raw)
	meta, _ := members(object["metadata"])
	return text(meta["namespace"]), text(meta["name"])
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
