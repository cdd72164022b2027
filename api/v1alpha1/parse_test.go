// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// manifest is a bulkhead called payments, as text, around a spec and whatever
// follows it.
func manifest(spec string, more ...string) string {
	return object(`{"name":"payments"}`, spec, more...)
}

func object(metadata, spec string, more ...string) string {
	return `{"apiVersion":"servicebulkhead.io/v1alpha1","kind":"ServiceBulkhead","metadata":` + metadata +
		`,"spec":` + spec + strings.Join(more, "") + `}`
}

const fine = `{"limit":1,"reclaimAfter":"30s"}`

// with is a spec that is fine but for what is written here.
func with(fields string) string { return manifest(`{"limit":1,"reclaimAfter":"30s",` + fields + `}`) }

// judgeText is what whoever has a file does.
func judgeText(raw []byte) (*ServiceBulkhead, field.ErrorList) {
	b, errs := Parse(raw)
	if len(errs) > 0 {
		return b, errs
	}
	return b, Validate(b)
}

func lines(errs field.ErrorList) (out []string) {
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return out
}

func TestParseReads(t *testing.T) {
	limit := func(n int32) ServiceBulkheadSpec { return ServiceBulkheadSpec{Limit: &n, ReclaimAfter: "30s"} }
	tests := map[string]struct {
		text string
		want ServiceBulkheadSpec
	}{
		"the least":                  {manifest(fine), limit(1)},
		"null for absent":            {with(`"maxWait":null,"queue":null,"onReclaim":null,"configMapName":null,"service":null`), limit(1)},
		"a whole number, with a dot": {manifest(`{"limit":25.0,"reclaimAfter":"30s"}`), limit(25)},
		"a whole number, with an e":  {manifest(`{"limit":1e2,"reclaimAfter":"30s"}`), limit(100)},
		"minus zero":                 {manifest(`{"limit":-0.0,"reclaimAfter":"30s"}`), limit(0)},
		"a status of any shape":      {manifest(fine, `,"status":{"observedGeneration":"x","conditions":[{"type":5}]}`), limit(1)},
		"a status that is none":      {manifest(fine, `,"status":"x"`), limit(1)},
		"every field": {
			with(`"service":"s","configMapName":"a-bulkheads","maxWait":"1ms","onReclaim":"Release","enforcement":"Shadow",` +
				`"queue":{"capacity":2,"maxConcurrency":3},"drainTimeout":"4s"`),
			ServiceBulkheadSpec{
				Service: "s", ConfigMapName: "a-bulkheads", Limit: new(int32(1)), MaxWait: "1ms", ReclaimAfter: "30s",
				OnReclaim: OnReclaimRelease, Enforcement: EnforcementShadow,
				Queue: &Queue{Capacity: 2, MaxConcurrency: 3}, DrainTimeout: "4s",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b, errs := judgeText([]byte(test.text))
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if !reflect.DeepEqual(b.Spec, test.want) {
				t.Errorf("got  %+v\nwant %+v", b.Spec, test.want)
			}
			if b.Name != "payments" || b.Kind != "ServiceBulkhead" || b.APIVersion != GroupVersion.String() {
				t.Errorf("got %s %s %s", b.APIVersion, b.Kind, b.Name)
			}
		})
	}
}

// TestParseLeavesOutWhatTheAPIServerSets: what somebody exported from a cluster
// begins a new life.
func TestParseLeavesOutWhatTheAPIServerSets(t *testing.T) {
	b, errs := judgeText([]byte(object(`{"name":"a","namespace":"shop","uid":"1","generation":-3,"labels":{"a":"b"},
		"creationTimestamp":"2026-01-01T00:00:00Z","deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":1}`,
		fine, `,"status":{"configMapRef":{"name":"service-bulkheads","revision":"1"}}`)))
	want := metav1.ObjectMeta{Name: "a", Namespace: "shop", Labels: map[string]string{"a": "b"}}
	if len(errs) > 0 || !reflect.DeepEqual(b.ObjectMeta, want) || !reflect.DeepEqual(b.Status, ServiceBulkheadStatus{}) {
		t.Errorf("got %+v, %v", b, errs)
	}
}

// The words of the wrong types and bounds are the API server's.
func TestParseRefuses(t *testing.T) {
	const known = ": known are configMapName, drainTimeout, enforcement, limit, maxWait, onReclaim, queue, reclaimAfter, service"
	tests := map[string]struct {
		text string
		want []string
	}{
		"a misspelt field": {with(`"maxwait":"1s"`), []string{`spec.maxwait: Forbidden: unknown field` + known}},
		"a misspelt field, and so one that is missing": {
			manifest(`{"limits":1,"reclaimAfter":"30s"}`), []string{`spec.limits: Forbidden: unknown field` + known},
		},
		"unknown fields at every depth": {
			with(`"a.b":null,"queue":{"capacity":1,"fair":true}`),
			[]string{`spec.a.b: Forbidden: unknown field` + known, `spec.queue.fair: Forbidden: unknown field: known are capacity, maxConcurrency`},
		},
		"an unknown field beside the spec": {
			manifest(fine, `,"limits":1`), []string{`limits: Forbidden: unknown field: known are apiVersion, kind, metadata, spec, status`},
		},
		"fields that are not indented": {
			manifest(`{"limit":1,"maxConcurrency":1}`, `,"reclaimAfter":"30s","labels":{}`), []string{
				`labels: Forbidden: unknown field: it belongs in metadata: indent it there`,
				`reclaimAfter: Forbidden: unknown field: it belongs in spec: indent it there`,
				`spec.maxConcurrency: Forbidden: unknown field: it belongs in spec.queue: indent it there`,
			},
		},
		"an unknown field of the status": {
			manifest(fine, `,"status":{"conditions":[{"why":1}]}`),
			[]string{`status.conditions[0].why: Forbidden: unknown field: known are lastTransitionTime, message, observedGeneration, reason, status, type`},
		},
		"unknown fields of the metadata": {
			object(`{"name":"payments","nameSpace":"shop","managedFields":[{"foo":1}]}`, fine),
			[]string{`metadata.managedFields[0].foo: Forbidden: unknown field`, `metadata.nameSpace: Forbidden: unknown field`},
		},
		"fields in what is no object": {
			with(`"maxWait":{"s":1},"queue":[[{"a":1}],2]`),
			[]string{
				`spec.maxWait: Invalid value: "object": spec.maxWait in body must be of type string: "object"`,
				`spec.queue: Invalid value: "array": spec.queue in body must be of type object: "array"`,
				`spec.maxWait.s: Forbidden: unknown field`, `spec.queue[0][0].a: Forbidden: unknown field`,
			},
		},
		"a list in the place of the spec": {
			manifest(`[{"limit":3},{"reclaimAfter":"30s"}]`),
			[]string{
				`spec: Invalid value: "array": spec in body must be of type object: "array"`,
				`spec[0].limit: Forbidden: unknown field`, `spec[1].reclaimAfter: Forbidden: unknown field`,
			},
		},
		"an unknown field says nothing of the wrong types beside it": {
			with(`"queue":[],"queues":[{}]`), []string{`spec.queues: Forbidden: unknown field` + known},
		},
		"a field twice": {with(`"limit":2`), []string{`spec.limit: Forbidden: duplicate field`}},
		"fields twice, in the metadata and under another spelling": {
			object(`{"name":"payments","labels":{"a":"1","a":"2"}}`, `{"limit":1,"l\u0069mit":2,"reclaimAfter":"30s"}`),
			[]string{`metadata.labels.a: Forbidden: duplicate field`, `spec.limit: Forbidden: duplicate field`},
		},

		"a spec of text":   {manifest(`"x"`), []string{`spec: Invalid value: "string": spec in body must be of type object: "string"`}},
		"a spec of null":   {manifest(`null`), []string{`spec: Required value`}},
		"an empty spec":    {manifest(`{}`), []string{`spec.limit: Required value`, `spec.reclaimAfter: Required value`}},
		"a limit of text":  {manifest(`{"limit":"25","reclaimAfter":"30s"}`), []string{`spec.limit: Invalid value: "string": spec.limit in body must be of type integer: "string"`}},
		"a limit of truth": {manifest(`{"limit":true,"reclaimAfter":"30s"}`), []string{`spec.limit: Invalid value: "boolean": spec.limit in body must be of type integer: "boolean"`}},
		"half a slot":      {manifest(`{"limit":2.5,"reclaimAfter":"30s"}`), []string{`spec.limit: Invalid value: "number": spec.limit in body must be of type integer: "number"`}},
		"nearly a slot":    {manifest(`{"limit":1.00000000001,"reclaimAfter":"30s"}`), []string{`spec.limit: Invalid value: "number": spec.limit in body must be of type integer: "number"`}},
		"a limit beyond 32 bits": {
			manifest(`{"limit":5000000000,"reclaimAfter":"30s"}`),
			[]string{`spec.limit: Invalid value: 5000000000: spec.limit in body should be less than or equal to 65536`},
		},
		"a limit far below 0": {
			manifest(`{"limit":-5000000000.0,"reclaimAfter":"30s"}`),
			[]string{`spec.limit: Invalid value: -5e+09: spec.limit in body should be greater than or equal to 0`},
		},
		"a limit beyond 64 bits": {
			manifest(`{"limit":99999999999999999999,"reclaimAfter":"30s"}`),
			[]string{`spec.limit: Invalid value: "number": spec.limit in body must be of type integer: "number"`},
		},
		"a limit beyond all bounds": {manifest(`{"limit":1e400,"reclaimAfter":"30s"}`), []string{`(root): Invalid value: must be of type float64: is number 1e400`}},
		"a bare number for a duration": {
			manifest(`{"limit":1,"reclaimAfter":30}`),
			[]string{`spec.reclaimAfter: Invalid value: "integer": spec.reclaimAfter in body must be of type string: "integer"`},
		},
		"a word that is a number": {with(`"onReclaim":5`), []string{`spec.onReclaim: Invalid value: "integer": spec.onReclaim in body must be of type string: "integer"`}},
		"a queue that is a list":  {with(`"queue":[]`), []string{`spec.queue: Invalid value: "array": spec.queue in body must be of type object: "array"`}},
		"a queue of null":         {with(`"queue":{"capacity":null}`), []string{`spec.queue.capacity: Required value`}},
		"a queue of nothing":      {with(`"queue":{"capacity":0}`), []string{`spec.queue.capacity: Invalid value: 0: spec.queue.capacity in body should be greater than or equal to 1`}},
		"no task at once": {
			with(`"queue":{"capacity":1,"maxConcurrency":0.0}`),
			[]string{`spec.queue.maxConcurrency: Invalid value: 0: spec.queue.maxConcurrency in body should be greater than or equal to 1`},
		},

		"an empty service":       {with(`"service":""`), []string{`spec.service: Invalid value: "": ` + badService}},
		"an empty configMapName": {with(`"configMapName":""`), []string{`spec.configMapName: Invalid value: "": ` + badConfigMapName}},
		"an empty maxWait":       {with(`"maxWait":""`), []string{`spec.maxWait: Invalid value: "": ` + badDuration}},
		"an empty reclaimAfter":  {manifest(`{"limit":1,"reclaimAfter":""}`), []string{`spec.reclaimAfter: Invalid value: "": ` + badDuration}},
		"an empty drainTimeout":  {with(`"drainTimeout":""`), []string{`spec.drainTimeout: Invalid value: "": ` + badDuration}},
		"an empty onReclaim":     {with(`"onReclaim":""`), []string{`spec.onReclaim: Unsupported value: "": supported values: "Cancel", "Release"`}},
		"an empty enforcement":   {with(`"enforcement":""`), []string{`spec.enforcement: Unsupported value: "": supported values: "Enforce", "Shadow"`}},

		"no name": {object(`{}`, fine), []string{`metadata.name: Required value: name or generateName is required`}},
		"no name, and a service too long": {
			object(`{}`, `{"limit":1,"reclaimAfter":"30s","service":"`+strings.Repeat("a", 64)+`"}`),
			[]string{`metadata.name: Required value: name or generateName is required`, `spec.service: Too long: may not be more than 63 bytes`},
		},
		"no metadata and spec": {`{"apiVersion":"servicebulkhead.io/v1alpha1","kind":"ServiceBulkhead"}`, []string{`metadata.name: Required value: name or generateName is required`, `spec: Required value`}},
		"metadata of text":     {object(`"x"`, fine), []string{`metadata: Invalid value: must be of type object: is string`}},
		"a name of 5":          {object(`{"name":5}`, fine), []string{`metadata.name: Invalid value: must be of type string: is number`}},
		"labels of other types": {
			object(`{"name":"a","labels":{"a":1.0,"b.c/d":true,"e":null,"f":"x"},"annotations":{"g":{}}}`, fine), []string{
				`metadata.labels[a]: Invalid value: must be of type string: is number; put it in quotes`,
				`metadata.labels[b.c/d]: Invalid value: must be of type string: is boolean; put it in quotes`,
				`metadata.annotations[g]: Invalid value: must be of type string: is object`,
			},
		},
		"labels of text":     {object(`{"name":"a","labels":"x"}`, fine), []string{`metadata.labels: Invalid value: must be of type object: is string`}},
		"finalizers of text": {object(`{"name":"a","finalizers":"x"}`, fine), []string{`metadata.finalizers: Invalid value: must be of type array: is string`}},

		"nothing":                 {``, []string{`(root): Invalid value: unexpected end of JSON input`}},
		"half an object":          {`{`, []string{`(root): Invalid value: unexpected end of JSON input`}},
		"a list":                  {`[]`, []string{`(root): Invalid value: must be of type object: is array`}},
		"two objects":             {manifest(fine) + `{}`, []string{`(root): Invalid value: invalid character '{' after top-level value`}},
		"null":                    {`null`, []string{`apiVersion: Required value: must be servicebulkhead.io/v1alpha1`, `kind: Required value: must be ServiceBulkhead`}},
		"another kind":            {`{"apiVersion":"servicebulkhead.io/v1alpha1","kind":"Deployment"}`, []string{`kind: Invalid value: "Deployment": must be ServiceBulkhead`}},
		"another version":         {`{"apiVersion":"servicebulkhead.io/v1","kind":"ServiceBulkhead"}`, []string{`apiVersion: Invalid value: "servicebulkhead.io/v1": must be servicebulkhead.io/v1alpha1`}},
		"a kind that is a number": {`{"apiVersion":"servicebulkhead.io/v1alpha1","kind":5}`, []string{`kind: Invalid value: "integer": kind in body must be of type string: "integer"`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, errs := judgeText([]byte(test.text)); !slices.Equal(lines(errs), test.want) {
				t.Errorf("got  %q\nwant %q", lines(errs), test.want)
			}
		})
	}
}

// fieldsOfErrors are the fields that errors name, in their order.
func fieldsOfErrors(errs field.ErrorList) (out []string) {
	for _, err := range errs {
		out = append(out, err.Field)
	}
	return out
}

// TestParseChecksTheMetadata: in apimachinery's own words, so only the fields are
// compared.
func TestParseChecksTheMetadata(t *testing.T) {
	for metadata, want := range map[string][]string{
		`{"generateName":"pay-"}`:                                        nil,
		`{"name":"payments","labels":null,"creationTimestamp":null}`:     nil,
		`{"name":"Bad_Name"}`:                                            {"metadata.name", "spec.service"},
		`{"name":"` + strings.Repeat("a", 254) + `"}`:                    {"metadata.name", "spec.service"},
		`{"generateName":"Pay-"}`:                                        {"metadata.generateName", "metadata.name", "spec.service"},
		`{"generateName":"pay."}`:                                        {"metadata.generateName", "spec.service"},
		`{"generateName":"` + strings.Repeat("a", 99) + `"}`:             nil,
		`{"name":"payments","namespace":"Shop"}`:                         {"metadata.namespace"},
		`{"name":"payments","labels":{"a b":"c"}}`:                       {"metadata.labels"},
		`{"name":"payments","annotations":{"-":"c"}}`:                    {"metadata.annotations"},
		`{"name":"payments","creationTimestamp":"x"}`:                    {"metadata"},
		`{"name":"payments","ownerReferences":[{"name":"x","uid":"1"}]}`: {"metadata.ownerReferences[0].apiVersion", "metadata.ownerReferences[0].kind"},
	} {
		if _, errs := judgeText([]byte(object(metadata, fine))); !slices.Equal(fieldsOfErrors(errs), want) {
			t.Errorf("%.60s: got %v, want %q", metadata, errs, want)
		}
	}
}

// TestParseTellsTheRestToo: one round is enough, where the API server needs two.
func TestParseTellsTheRestToo(t *testing.T) {
	b, errs := Parse([]byte(object(`{"name":"payments","labels":{"a b":"c"}}`,
		`{"limit":"1","maxWait":"1d","drainTimeout":"","queue":{"capacity":70000}}`)))
	want := []string{"metadata.labels", "spec.limit", "spec.maxWait", "spec.reclaimAfter", "spec.drainTimeout", "spec.queue.capacity"}
	if !slices.Equal(fieldsOfErrors(errs), want) {
		t.Errorf("got %v, want %q", errs, want)
	}
	if b.Name != "payments" || b.Spec.MaxWait != "1d" {
		t.Errorf("got %+v, want what could be read", b)
	}
}

// TestParseLeavesTheTypesRulesToValidate: every row of the table, as text. Parse
// says nothing of what Validate can see, which the API server would say as well.
func TestParseLeavesTheRulesToValidate(t *testing.T) {
	text, err := os.ReadFile("testdata/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		rule `json:",inline"`
		Spec json.RawMessage `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		b, errs := Parse([]byte(object(`{"name":"`+row.bulkhead().Name+`"}`, string(row.Spec))))
		if len(errs) > 0 {
			t.Errorf("%s: Parse says %v", row.Case, errs)
			continue
		}
		var want []string
		if row.Field != "" {
			want = []string{row.Field + ": " + row.Message}
		}
		if got := lines(Validate(b)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", row.Case, got, want)
		}
	}
}

// Whatever the text: Parse ends, and what it accepts is the same when it is
// written and read again, and can be published.
func FuzzParse(f *testing.F) {
	f.Add([]byte(manifest(fine)))
	f.Add([]byte(object(`{"generateName":"a-"}`, `{"limit":1e2,"reclaimAfter":"1h","queue":{"capacity":1.0}}`, `,"status":{"a":[]}`)))
	f.Add([]byte(`{"apiVersion":"servicebulkhead.io/v1alpha1","kind":"ServiceBulkhead","metadata":null,"spec":[{"a":1}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, errs := judgeText(raw)
		if len(errs) > 0 {
			return
		}
		if _, err := Entry(b); err != nil {
			t.Fatalf("accepted, yet not to be published: %v", err)
		}
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		again, errs := judgeText(text)
		if len(errs) > 0 || !equality.Semantic.DeepEqual(again, b) {
			t.Fatalf("got %+v, %v\nwant %+v", again, errs, b)
		}
	})
}
