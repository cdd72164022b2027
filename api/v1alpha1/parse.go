// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	gojson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/json"
)

// Parse reads one bulkhead, a JSON object, as the API server reads it when it is
// created under strict field validation: null is absent, 1.0 is 1, field names are
// case-sensitive. What the API server sets itself (status, uid, times) is left out.
//
// Its errors are those that Validate cannot see, since a Go value does not show
// them: unknown and duplicate fields, wrong types, numbers beyond 32 bits, an
// empty string, a 0 that stands for nothing, and what is wrong with the metadata.
// They name the field that the API server names. Where there are none, ask
// Validate. Where there are some, they include what Validate finds in the rest,
// and the bulkhead holds what could be read, or is nil; but beside unknown and
// duplicate fields only the wrong type of what holds them is told, because what
// else is missing may be what they were meant to be.
func Parse(raw []byte) (*ServiceBulkhead, field.ErrorList) {
	var object map[string]any
	strict, err := json.UnmarshalStrict(raw, &object)
	if err != nil {
		return nil, field.ErrorList{misread(field.NewPath("(root)"), err)}
	}
	if errs := slices.Concat(
		checkName(object, "apiVersion", GroupVersion.String()),
		checkName(object, "kind", kind),
	); len(errs) > 0 {
		return nil, errs
	}
	b := &ServiceBulkhead{TypeMeta: metav1.TypeMeta{APIVersion: GroupVersion.String(), Kind: kind}}
	if errs := checkTexts(object["metadata"]); len(errs) > 0 {
		return nil, errs
	}
	unknown, err := readMeta(object["metadata"], &b.ObjectMeta)
	if err != nil {
		return nil, field.ErrorList{misread(field.NewPath("metadata"), err)}
	}
	body := readBody(object, b)
	if errs := slices.Concat(strictErrors("", strict), strictErrors("metadata.", unknown), body.unknown); len(errs) > 0 {
		return b, append(body.holding(errs), errs...)
	}
	return b, complete(b, append(checkMeta(b.ObjectMeta), body.wrong...), body.written)
}

const kind = "ServiceBulkhead"

var rootType = reflect.TypeFor[ServiceBulkhead]()

// checkName compares apiVersion or kind with what makes an object ours.
func checkName(object map[string]any, name, want string) field.ErrorList {
	path, must := field.NewPath(name), "must be "+want
	switch got := object[name].(type) {
	case nil:
		return field.ErrorList{field.Required(path, must)}
	case string:
		if got != want {
			return field.ErrorList{field.Invalid(path, got, must)}
		}
		return nil
	default:
		return field.ErrorList{wrongType(path, "string", got)}
	}
}

// misread turns the error that ended the reading into one of the field at which it
// did, as far as that is known.
func misread(path *field.Path, err error) *field.Error {
	mismatch := (*gojson.UnmarshalTypeError)(nil)
	if !errors.As(err, &mismatch) {
		return field.Invalid(path, field.OmitValueType{}, err.Error())
	}
	if mismatch.Field != "" {
		path = path.Child(mismatch.Field)
	}
	return field.TypeInvalid(path, field.OmitValueType{}, fmt.Sprintf("must be of type %s: is %s", nameOfType(mismatch.Type), mismatch.Value))
}

// nameOfType is what JSON calls a Go type.
func nameOfType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return nameOfType(t.Elem())
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice:
		return "array"
	default:
		return t.Kind().String()
	}
}

// strictErrors turns what strict decoding finds, unknown and duplicate fields, into
// errors of those fields.
func strictErrors(prefix string, strict []error) (errs field.ErrorList) {
	for _, err := range strict {
		if at, ok := err.(json.FieldError); ok { //nolint:errorlint // the decoder does not wrap them
			what, _, _ := strings.Cut(err.Error(), ` "`)
			errs = append(errs, strictError(prefix+at.FieldPath(), what))
		}
	}
	return errs
}

// strictError is of a path as it is written: the name of a field that nobody knows
// can be anything.
func strictError(path, what string) *field.Error {
	return &field.Error{Type: field.ErrorTypeForbidden, Field: path, BadValue: field.OmitValueType{}, Detail: what}
}

// checkTexts names the labels and annotations whose values are no strings. The
// decoder would name the first, without its key.
func checkTexts(metadata any) (errs field.ErrorList) {
	meta, _ := metadata.(map[string]any)
	for _, name := range []string{"labels", "annotations"} {
		texts, _ := meta[name].(map[string]any)
		for _, key := range sortedNames(texts) {
			detail := "must be of type string: is " + typeOf(texts[key])
			switch texts[key].(type) {
			case nil, string:
				continue
			case bool, int64, float64:
				detail = strings.Replace(detail, "integer", "number", 1) + "; put it in quotes"
			}
			path := field.NewPath("metadata", name).Key(key)
			errs = append(errs, field.TypeInvalid(path, field.OmitValueType{}, detail))
		}
	}
	return errs
}

// readMeta decodes metadata. A wrong type in it ends the reading, as it does on the
// API server.
func readMeta(value any, meta *metav1.ObjectMeta) (unknown []error, err error) {
	text, err := gojson.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	unknown, err = json.UnmarshalStrict(text, meta)
	meta.UID, meta.Generation, meta.CreationTimestamp = "", 0, metav1.Time{}
	meta.DeletionTimestamp, meta.DeletionGracePeriodSeconds, meta.ManagedFields = nil, nil, nil
	return unknown, err
}

// checkMeta asks apimachinery what the API server asks it, for a namespace that
// the request would fill in and a name that it would generate.
func checkMeta(meta metav1.ObjectMeta) field.ErrorList {
	meta.Namespace = cmp.Or(meta.Namespace, metav1.NamespaceDefault)
	meta.Name = nameOf(meta)
	return validation.ValidateObjectMeta(&meta, true, validation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

// readBody reads what is neither type nor metadata. The status counts for its
// unknown fields alone: at creation the API server drops it unseen.
func readBody(object map[string]any, b *ServiceBulkhead) reader {
	var body, status reader
	for _, name := range sortedNames(object) {
		value := object[name]
		switch name {
		case "apiVersion", "kind", "metadata":
		case "spec":
			body.read(field.NewPath(name), value, reflect.ValueOf(&b.Spec).Elem())
		case "status":
			status.read(field.NewPath(name), value, reflect.ValueOf(new(ServiceBulkheadStatus)).Elem())
		default:
			body.unknown = append(body.unknown, strictError(name, unknownOf(rootType, "", name)))
		}
	}
	if object["spec"] == nil {
		body.wrong = append(body.wrong, field.Required(field.NewPath("spec"), ""))
	}
	body.unknown = append(body.unknown, status.unknown...)
	return body
}

// complete adds to the errors what Validate finds elsewhere. Of a field that could
// not be read, it would only say that it is missing.
func complete(b *ServiceBulkhead, errs field.ErrorList, written written) field.ErrorList {
	if len(errs) == 0 && len(written) == 0 {
		return nil
	}
	told := func(found *field.Error) bool {
		return slices.ContainsFunc(errs, func(err *field.Error) bool {
			return found.Field == err.Field || strings.HasPrefix(found.Field, err.Field+".") ||
				// Without a name there is nothing to stand in for a service.
				found.Field == "spec.service" && found.Type == field.ErrorTypeRequired &&
					err.Field == "metadata.name" && err.Type == field.ErrorTypeRequired
		})
	}
	rest := slices.DeleteFunc(validate(b, written), told)
	return append(errs, rest...)
}
