// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func crd(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "config/crd/bases/servicebulkhead.io_servicebulkheads.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		t.Fatal(err)
	}
	return &crd
}

// fields lists what users write and read, by path: spec, status and everything
// below. What is inside of a condition is Kubernetes' own.
func fields(t *testing.T) map[string]apiextensionsv1.JSONSchemaProps {
	t.Helper()
	all := map[string]apiextensionsv1.JSONSchemaProps{}
	var add func(path string, schema apiextensionsv1.JSONSchemaProps)
	add = func(path string, schema apiextensionsv1.JSONSchemaProps) {
		all[path] = schema
		for name, property := range schema.Properties {
			add(path+"."+name, property)
		}
	}
	schema := crd(t).Spec.Versions[0].Schema.OpenAPIV3Schema
	add("spec", schema.Properties["spec"])
	add("status", schema.Properties["status"])
	if len(all) < 15 {
		t.Fatalf("found %d fields: %v", len(all), slices.Sorted(maps.Keys(all)))
	}
	return all
}

// TestEveryFieldIsExplained: kubectl explain shows these texts to users. A text
// begins with its field, ends with an example, and names the units of a length of
// time, and the default where there is one.
func TestEveryFieldIsExplained(t *testing.T) {
	for path, field := range fields(t) {
		name := path[strings.LastIndex(path, ".")+1:]
		text, example, _ := strings.Cut(field.Description, "\nExample: ")
		words := strings.ReplaceAll(text, "\n", " ")
		if !strings.HasPrefix(text, name+" ") {
			t.Errorf("%s: the text must begin with the field's name: %q", path, text)
		}
		if example == "" || strings.Contains(example, "\n") {
			t.Errorf("%s: the text must end with a line %q", path, "Example: …")
		}
		if duration(field) && !strings.Contains(words, "in units of h, m, s or ms") {
			t.Errorf("%s: the text must name the units", path)
		}
		if value, ok := scalarDefault(field); ok && !strings.Contains(words, "Absent, it is "+value) {
			t.Errorf("%s: the text must say: Absent, it is %s", path, value)
		}
	}
}

// scalarDefault is what the schema fills in; of an object, its fields tell.
func scalarDefault(field apiextensionsv1.JSONSchemaProps) (text string, ok bool) {
	if field.Default == nil || field.Type == "object" {
		return "", false
	}
	return strings.Trim(string(field.Default.Raw), `"`), true
}

// TestExplanationsFit: kubectl explain indents a text by 4 and breaks what is longer
// than 80 columns, which leaves single words on lines of their own.
func TestExplanationsFit(t *testing.T) {
	all := fields(t)
	all["(root)"] = *crd(t).Spec.Versions[0].Schema.OpenAPIV3Schema
	for path, field := range all {
		for line := range strings.SplitSeq(field.Description, "\n") {
			if n := utf8.RuneCountInString(line); n > 76 {
				t.Errorf("%s: %d columns, at most 76 fit: %q", path, n, line)
			}
		}
	}
}

func duration(field apiextensionsv1.JSONSchemaProps) bool {
	return slices.ContainsFunc(field.XValidations, func(rule apiextensionsv1.ValidationRule) bool {
		return strings.Contains(rule.Rule, "duration(self)")
	})
}

// TestEveryFieldIsBounded: to loosen a bound later is compatible, to tighten one is
// not; and bounds are what the cost of a CEL rule is estimated from.
func TestEveryFieldIsBounded(t *testing.T) {
	for path, field := range fields(t) {
		if !bounded(field) {
			t.Errorf("%s: a %s without a bound", path, field.Type)
		}
	}
}

func bounded(field apiextensionsv1.JSONSchemaProps) bool {
	switch field.Type {
	case "string":
		return field.MaxLength != nil || len(field.Enum) > 0
	case "integer":
		return field.Minimum != nil && (field.Maximum != nil || field.Format == "int64") // generations have no end
	case "array":
		return field.MaxItems != nil
	case "object":
		return len(field.Properties) > 0
	default:
		return false // what the API has no use for so far
	}
}

// TestEveryRuleSaysWhy: without a message of ours, a refusal shows the bare
// expression.
func TestEveryRuleSaysWhy(t *testing.T) {
	all, rules := fields(t), 0
	schema := crd(t).Spec.Versions[0].Schema.OpenAPIV3Schema
	all["(root)"] = *schema
	for path, field := range all {
		for _, rule := range field.XValidations {
			rules++
			if rule.Message == "" {
				t.Errorf("%s: the rule %q has no message", path, rule.Rule)
			}
		}
		if field.Pattern != "" {
			t.Errorf("%s: a pattern's message is the pattern: use a CEL rule", path)
		}
	}
	if rules == 0 {
		t.Error("found no rule")
	}
}

// TestNamesAndColumns is what people type, and what they see then.
func TestNamesAndColumns(t *testing.T) {
	crd := crd(t)
	if got := crd.Spec.Names; !slices.Equal(got.ShortNames, []string{"sbh"}) || !slices.Equal(got.Categories, []string{"resilience"}) {
		t.Errorf("got the names %+v", got)
	}
	version := crd.Spec.Versions[0]
	if version.Subresources == nil || version.Subresources.Status == nil {
		t.Error("there is no status subresource")
	}
	status := version.Schema.OpenAPIV3Schema.Properties["status"]
	if status.Default == nil || string(status.Default.Raw) != `{"observedGeneration":-1}` {
		t.Errorf("the status has the default %v", status.Default)
	}
	if field := status.Properties["observedGeneration"]; field.Default == nil || string(field.Default.Raw) != "-1" {
		t.Errorf("status.observedGeneration has the default %v", field.Default)
	}
	var columns []string
	for _, column := range version.AdditionalPrinterColumns {
		name := column.Name
		if column.Priority > 0 {
			name += " (wide)"
		}
		columns = append(columns, name)
	}
	want := []string{"Service", "Limit", "MaxWait", "Reclaim", "Enforcement", "Ready", "Reason (wide)", "Age"}
	if !slices.Equal(columns, want) {
		t.Errorf("got the columns %q, want %q", columns, want)
	}
}
