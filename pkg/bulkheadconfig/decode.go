// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package bulkheadconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// Decode reads a document. It returns an error that names the field and the
// rule, and no part of the document, for text that is empty, cut off, not UTF-8,
// not JSON, followed by anything, for a key that stands twice in one object, for
// a required field that is missing, and for a value of a wrong type or out of
// range. Field names are case sensitive. Fields it does not know are listed in
// Document.Unknown.
func Decode(text []byte) (Document, error) {
	root, err := parse(text)
	if err != nil {
		return Document{}, err
	}
	top := newFields("", root)
	doc := Document{Revision: required(top, "revision", asString), Services: map[string]Service{}}
	services := required(top, "services", asObject)
	for _, name := range slices.Sorted(maps.Keys(services)) {
		entry := top.child(servicePath(name), services[name])
		if err := checkName(name); err != nil {
			entry.err = err
		}
		doc.Services[name] = decodeService(entry)
		top.adopt(entry)
	}
	if doc.Revision == "" {
		top.fail("revision", errors.New("must not be empty"))
	}
	doc.Unknown = top.leftover()
	if top.err != nil {
		return Document{}, top.err
	}
	return doc, nil
}

func decodeService(f *fields) Service {
	s := Service{
		Limit:        required(f, "limit", asInt),
		MaxWait:      optional(f, "maxWait", asDuration),
		ReclaimAfter: required(f, "reclaimAfter", asDuration),
		OnReclaim:    orDefault(OnReclaim(optional(f, "onReclaim", asString)), Cancel),
		Enforcement:  orDefault(Enforcement(optional(f, "enforcement", asString)), Enforce),
	}
	if f.has("drainTimeout") {
		s.DrainTimeout = new(required(f, "drainTimeout", asDuration))
	}
	if f.has("queue") {
		q := f.child(f.at("queue"), required(f, "queue", asObject))
		s.Queue = &Queue{Capacity: required(q, "capacity", asInt), MaxConcurrency: optional(q, "maxConcurrency", asInt)}
		f.adopt(q)
	}
	if f.err == nil {
		f.err = s.validate(f.path)
	}
	return s
}

// fields is one JSON object being read: it remembers what was asked for, so that
// what is left over is unknown, and the first error.
type fields struct {
	path    string
	members map[string]any
	asked   map[string]bool
	unknown []string
	err     error
}

func newFields(path string, members map[string]any) *fields {
	return &fields{path: path, members: members, asked: map[string]bool{}}
}

// child opens a member of f that must itself be an object.
func (f *fields) child(path string, value any) *fields {
	members, err := asObject(value)
	c := newFields(path, members)
	if err != nil {
		c.err = fmt.Errorf("%s: %w", path, err)
	}
	return c
}

// adopt takes over what a child found.
func (f *fields) adopt(c *fields) {
	f.unknown = append(f.unknown, c.leftover()...)
	if f.err == nil {
		f.err = c.err
	}
}

func (f *fields) leftover() []string {
	for name := range f.members {
		if !f.asked[name] {
			f.unknown = append(f.unknown, f.at(name))
		}
	}
	slices.Sort(f.unknown)
	return f.unknown
}

func (f *fields) at(name string) string {
	if f.path == "" {
		return name
	}
	return f.path + "." + name
}

func (f *fields) has(name string) bool {
	_, ok := f.members[name]
	return ok
}

func (f *fields) fail(path string, err error) {
	if f.err == nil {
		f.err = fmt.Errorf("%s: %w", path, err)
	}
}

// required reads a member as a T; its absence is an error.
func required[T any](f *fields, name string, as func(any) (T, error)) T {
	if !f.has(name) {
		f.fail(f.at(name), errors.New("required"))
	}
	return optional(f, name, as)
}

// optional reads a member as a T; absent, it is T's zero value. null is a value
// of the wrong type, not an absence.
func optional[T any](f *fields, name string, as func(any) (T, error)) (v T) {
	f.asked[name] = true
	if !f.has(name) {
		return v
	}
	v, err := as(f.members[name])
	if err != nil {
		f.fail(f.at(name), err)
	}
	return v
}

func asObject(v any) (map[string]any, error) { return as[map[string]any](v, "an object") }
func asString(v any) (string, error)         { return as[string](v, "a string") }

func asInt(v any) (int, error) {
	number, err := as[json.Number](v, "a whole number")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(number.String(), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s: must be a whole number of at most 32 bits", number)
	}
	return int(n), nil
}

func asDuration(v any) (time.Duration, error) {
	text, err := as[string](v, "a duration in quotes")
	if err != nil {
		return 0, err
	}
	return ParseDuration(text)
}

func as[T any](v any, want string) (T, error) {
	t, ok := v.(T)
	if !ok {
		return t, fmt.Errorf("%s: must be %s", kind(v), want)
	}
	return t, nil
}

func kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case json.Number:
		return v.String()
	default:
		return fmt.Sprintf("%#v", v)
	}
}

// parse reads the text as one JSON object without duplicate keys. encoding/json
// alone would let the last of two equal keys win, and ignore the case of names.
func parse(text []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("document is empty")
	}
	if !utf8.Valid(text) {
		return nil, errors.New("document is not UTF-8")
	}
	// One look at the whole text finds every syntax error, trailing data included.
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		return nil, fmt.Errorf("document is not JSON: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	root, err := value(dec, "")
	if err != nil {
		return nil, err
	}
	members, err := asObject(root)
	if err != nil {
		return nil, fmt.Errorf("document is %w", err)
	}
	return members, nil
}

// value reads the next JSON value; an object becomes a map, a list a slice.
func value(dec *json.Decoder, path string) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	switch token {
	case json.Delim('{'):
		return object(dec, path)
	case json.Delim('['):
		return list(dec, path)
	}
	return token, nil
}

func object(dec *json.Decoder, path string) (any, error) {
	members := map[string]any{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		name := key.(string) //nolint:errcheck // a member's key is always a string
		if _, twice := members[name]; twice {
			return nil, fmt.Errorf("duplicate key %q in %s", name, describe(path))
		}
		if members[name], err = value(dec, path+"."+name); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token() // the closing brace
	return members, err
}

func list(dec *json.Decoder, path string) (any, error) {
	items := []any{}
	for dec.More() {
		item, err := value(dec, path+"[]")
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	_, err := dec.Token() // the closing bracket
	return items, err
}

func describe(path string) string {
	if path == "" {
		return "the document"
	}
	return path[1:]
}
