// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const unknownField = "unknown field"

// reader fills in Go values from decoded JSON, and tells what does not fit. It
// goes by the types and their JSON names, so that there is no second list of
// fields; what it finds, and in what words, is what the API server finds with the
// schema that is generated from the same types.
type reader struct {
	unknown, wrong field.ErrorList
	written        written
}

// written holds, by field, the values that a Go value cannot hold or would hold as
// an absent one: empty strings, zeros that mean nothing, numbers too large.
type written map[string]any

func (w written) has(path *field.Path) bool {
	_, ok := w[path.String()]
	return ok
}

// read reads value into a settable Go value of one of the kinds that the API has.
// null is an absent value.
func (r *reader) read(path *field.Path, value any, into reflect.Value) {
	if value == nil {
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		r.read(path, value, into.Elem())
		if into.Elem().IsZero() { // a pointer shows that it was written
			delete(r.written, path.String())
		}
	case reflect.Struct:
		r.readObject(path, value, into)
	case reflect.Slice:
		r.readList(path, value, into)
	case reflect.String:
		if text, ok := value.(string); ok {
			into.SetString(text)
			r.note(path, value, text == "")
		} else {
			r.misfit(path, "string", value)
		}
	default:
		r.readInt(path, value, into)
	}
}

func (r *reader) readObject(path *field.Path, value any, into reflect.Value) {
	object, ok := value.(map[string]any)
	if !ok {
		r.misfit(path, "object", value)
		return
	}
	fields := fieldsOf(into.Type())
	for _, name := range sortedNames(object) {
		if i, ok := fields[name]; ok {
			r.read(path.Child(name), object[name], into.Field(i))
		} else {
			at := path.String() + "."
			r.unknown = append(r.unknown, strictError(at+name, unknownOf(into.Type(), at, name)))
		}
	}
}

// unknownOf helps who mistyped a name, or its indentation: at is the way to the
// object, with a dot at its end unless it is the root.
func unknownOf(object reflect.Type, at, name string) string {
	for child := range object.Fields() {
		if in := jsonName(child); in != "" && hasField(child.Type, name) {
			return unknownField + ": it belongs in " + at + in + ": indent it there"
		}
	}
	names := sortedNames(fieldsOf(object))
	if at == "" { // the type and the version stand in a struct of their own
		names = slices.Concat([]string{"apiVersion", "kind"}, names)
	}
	return unknownField + ": known are " + strings.Join(names, ", ")
}

// hasField tells whether a type is an object that has a field of this name.
func hasField(t reflect.Type, name string) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	_, ok := fieldsOf(t)[name]
	return ok
}

func (r *reader) readList(path *field.Path, value any, into reflect.Value) {
	list, ok := value.([]any)
	if !ok {
		r.misfit(path, "array", value)
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(list), len(list)))
	for i, item := range list {
		r.read(path.Index(i), item, into.Index(i))
	}
}

// readInt reads a whole number, however it is written. One that does not fit is
// held as the nearest that does, which is out of bounds too.
func (r *reader) readInt(path *field.Path, value any, into reflect.Value) {
	var n int64
	switch number := value.(type) {
	case int64:
		n = number
	case float64:
		if number != math.Trunc(number) || math.Abs(number) >= 1<<53 {
			r.misfit(path, "integer", value)
			return
		}
		n = int64(number)
	default:
		r.misfit(path, "integer", value)
		return
	}
	overflows := into.OverflowInt(n)
	if overflows {
		n = min(max(n, math.MinInt32), math.MaxInt32)
	}
	into.SetInt(n)
	r.note(path, value, overflows || n == 0)
}

// note remembers a written value that into does not show.
func (r *reader) note(path *field.Path, value any, hidden bool) {
	if hidden {
		if r.written == nil {
			r.written = written{}
		}
		r.written[path.String()] = value
	}
}

// misfit tells that a value has the wrong type, and that fields in it are unknown.
func (r *reader) misfit(path *field.Path, want string, value any) {
	r.wrong = append(r.wrong, wrongType(path, want, value))
	r.strangers(path, value)
}

// strangers tells of fields where there should be none, in the objects of lists
// too.
func (r *reader) strangers(path *field.Path, value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range sortedNames(value) {
			r.unknown = append(r.unknown, strictError(path.String()+"."+name, unknownField))
		}
	case []any:
		for i, item := range value {
			r.strangers(path.Index(i), item)
		}
	}
}

// holding returns the wrong types of what the unknown fields stand in: they are
// unknown for that reason alone.
func (r *reader) holding(unknown field.ErrorList) (errs field.ErrorList) {
	for _, wrong := range r.wrong {
		if slices.ContainsFunc(unknown, func(err *field.Error) bool { return within(err.Field, wrong.Field) }) {
			errs = append(errs, wrong)
		}
	}
	return errs
}

// within tells whether a path leads into another.
func within(path, of string) bool {
	rest, ok := strings.CutPrefix(path, of)
	return ok && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "["))
}

// wrongType is in the schema's words.
func wrongType(path *field.Path, want string, value any) *field.Error {
	got := typeOf(value)
	return field.TypeInvalid(path, got, fmt.Sprintf("%s in body must be of type %s: %q", path, want, got))
}

// typeOf is a decoded value's type in the schema's words.
func typeOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case int64:
		return "integer"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	default:
		return fmt.Sprintf("%T", value) // no other type comes out of JSON
	}
}

// fieldsOf is where a struct keeps what JSON calls by name.
func fieldsOf(t reflect.Type) map[string]int {
	fields := map[string]int{}
	for i := range t.NumField() {
		if name := jsonName(t.Field(i)); name != "" {
			fields[name] = i
		}
	}
	return fields
}

// jsonName is what JSON calls a field; empty for what it does not see.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" {
		return ""
	}
	return name
}

func sortedNames[T any](object map[string]T) []string {
	return slices.Sorted(maps.Keys(object))
}
