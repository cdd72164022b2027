// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// rule is one thing that the CRD asks for.
type rule struct {
	kind string
	// path is where the rule stands, field what is named when it is broken. They
	// differ for CEL rules with a fieldPath; and of an unknown field, path is the
	// object that has none of that name.
	path, field string
	// text is what the API server says, or a part of it that no other rule has.
	text string
	// schema is that of path.
	schema *apiextensionsv1.JSONSchemaProps
	// isTransition says that the rule compares an object with what it was before.
	isTransition bool
}

// The kinds of rules. Those of CEL are known by their text.
const (
	required  = "required"
	typed     = "type"
	minimum   = "minimum"
	maximum   = "maximum"
	maxLength = "maxLength"
	enum      = "enum"
	cel       = "cel"
	form      = "form"
	unknown   = "no unknown field"
	duplicate = "no duplicate field"
)

func (r rule) String() string {
	if r.kind == cel {
		text, _, _ := strings.Cut(r.text, ":")
		return fmt.Sprintf("%s: %s", r.field, text)
	}
	return strings.TrimPrefix(r.path+": "+r.kind, ": ")
}

// broken says whether a refusal tells of the rule.
func (r rule) broken(refused refusal) bool {
	switch r.kind {
	case unknown:
		return refused.decoding && strings.HasPrefix(refused.Message, r.text)
	case duplicate:
		return refused.decoding && refused.Field == r.field && strings.HasPrefix(refused.Message, r.text)
	}
	return refused.Field == r.field && strings.Contains(refused.Message, r.text)
}

// readRules reads every rule of the CRD about what people write: all but the
// status, which a creation drops.
func readRules() ([]rule, error) {
	text, err := os.ReadFile(crdFile)
	if err != nil {
		return nil, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return nil, err
	}
	root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	rules, err := rulesOf("", root)
	return append(rules, everyObjects...), err
}

// everyObjects are rules that Kubernetes has for every object, as far as they are
// told of a field.
var everyObjects = []rule{
	{kind: unknown, path: "metadata", text: "unknown field"},
	{kind: unknown, path: "status", text: "unknown field"},
	{kind: duplicate, path: "metadata.name", field: "metadata.name", text: "duplicate field"},
	{kind: required, path: "metadata.name", field: "metadata.name", text: "name or generateName is required"},
	{kind: form, path: "metadata.name", field: "metadata.name", text: "Invalid value"},
	{kind: form, path: "metadata.labels", field: "metadata.labels", text: "Invalid value"},
	{kind: form, path: "metadata.annotations", field: "metadata.annotations", text: "Invalid value"},
	{kind: form, path: "kind", field: "kind", text: "must be ServiceBulkhead"},
}

// own are the properties with rules of ours.
func own(path string, schema *apiextensionsv1.JSONSchemaProps) []string {
	names := slices.Sorted(maps.Keys(schema.Properties))
	if path == "" {
		return []string{"spec"}
	}
	return names
}

func rulesOf(path string, schema *apiextensionsv1.JSONSchemaProps) ([]rule, error) {
	var rules []rule
	add := func(kind, field, text string) {
		rules = append(rules, rule{kind: kind, path: path, field: field, text: text, schema: schema})
	}
	if path != "" {
		add(typed, path, "must be of type "+schema.Type)
		add(duplicate, path, "duplicate field")
	}
	if schema.Minimum != nil {
		add(minimum, path, "should be greater than or equal to")
	}
	if schema.Maximum != nil {
		add(maximum, path, "should be less than or equal to")
	}
	if schema.MaxLength != nil {
		add(maxLength, path, "Too long")
	}
	if schema.Enum != nil {
		add(enum, path, "Unsupported value")
	}
	for _, validation := range schema.XValidations {
		add(cel, strings.TrimPrefix(path+validation.FieldPath, "."), validation.Message)
		rules[len(rules)-1].isTransition = strings.Contains(validation.Rule, "oldSelf")
	}
	if schema.Type == "object" {
		add(unknown, "", "unknown field")
	}
	for _, name := range schema.Required {
		rules = append(rules, rule{kind: required, path: join(path, name), field: join(path, name), text: "Required value"})
	}
	err := onlyKnown(path, schema)
	for _, name := range own(path, schema) {
		child := schema.Properties[name]
		more, childErr := rulesOf(join(path, name), &child)
		rules = append(rules, more...)
		if err == nil {
			err = childErr
		}
	}
	return rules, err
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// onlyKnown refuses a schema with rules of kinds that are not read above: nobody
// would notice that they are never broken.
func onlyKnown(path string, schema *apiextensionsv1.JSONSchemaProps) error {
	rest := *schema
	rest.Description, rest.Type, rest.Properties, rest.Default, rest.Required = "", "", nil, nil, nil
	rest.Minimum, rest.Maximum, rest.MaxLength, rest.Enum, rest.XValidations = nil, nil, nil, nil, nil
	text, err := yaml.Marshal(rest)
	if err == nil && strings.TrimSpace(string(text)) != "{}" {
		err = fmt.Errorf("the schema of %q has rules that this test does not know:\n%s", path, text)
	}
	return err
}
