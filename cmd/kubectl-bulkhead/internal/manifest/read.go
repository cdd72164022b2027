// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"fmt"
	"slices"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	yamlconv "sigs.k8s.io/yaml"
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
	var in collection
	in.collect(raw, typeMeta{}, nil)
	c.Skipped += in.skipped
	if in.deep {
		c.Faults = append(c.Faults, from.fault(1, fmt.Sprintf("lists in lists, more than %d deep, are not looked into", maxLists)))
	}
	if len(in.ours) == 0 {
		return
	}
	root := from.root()
	for _, f := range in.ours {
		object := Object{JSON: f.raw, root: f.in(root), line: from.line, keys: keys{}}
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
