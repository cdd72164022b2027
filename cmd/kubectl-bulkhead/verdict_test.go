// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const head = "apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkhead\nmetadata: {name: payments}\n"

func bulkhead(spec string) string { return head + "spec: {" + spec + "}\n" }

func inJSON(spec string) string {
	return `{"apiVersion":"servicebulkhead.io/v1alpha1","kind":"ServiceBulkhead","metadata":{"name":"payments"},"spec":{` + spec + `}}`
}

func list(items ...string) string {
	return "apiVersion: v1\nkind: List\nitems:\n- " + strings.Join(items, "\n- ") + "\n"
}

func typedList(item string) string {
	return "apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkheadList\nitems:\n- " + item + "\n"
}

// with puts something into the metadata of what is right otherwise.
func with(metadata string) string {
	return strings.Replace(right, "{name: payments}", "{"+metadata+"}", 1)
}

var right = bulkhead("limit: 1, reclaimAfter: 30s")

// What the tables of rules cannot hold: how manifests are written. The rules
// themselves are compared with the API server elsewhere.
var manifests = map[string]map[string]string{
	"numbers": {
		"octal":           bulkhead("limit: 010, reclaimAfter: 30s"),
		"hexadecimal":     bulkhead("limit: 0x10, reclaimAfter: 30s"),
		"underscore":      bulkhead("limit: 1_000, reclaimAfter: 30s"),
		"exponent":        bulkhead("limit: 1e3, reclaimAfter: 30s"),
		"whole":           bulkhead("limit: 2.0, reclaimAfter: 30s"),
		"half":            bulkhead("limit: 2.5, reclaimAfter: 30s"),
		"infinite":        bulkhead("limit: .inf, reclaimAfter: 30s"),
		"huge":            bulkhead("limit: 99999999999999999999, reclaimAfter: 30s"),
		"a text's tag":    bulkhead("limit: !!str 1, reclaimAfter: 30s"),
		"JSON's whole":    inJSON(`"limit":1.0,"reclaimAfter":"30s"`),
		"JSON's exponent": inJSON(`"limit":1e1,"reclaimAfter":"30s"`),
	},
	"texts": {
		"a boolean":       bulkhead("limit: 1, reclaimAfter: 30s, enforcement: yes"),
		"a service no":    bulkhead("service: no, limit: 1, reclaimAfter: 30s"),
		"a service 1":     bulkhead("service: 1, limit: 1, reclaimAfter: 30s"),
		"a bare 0":        bulkhead("limit: 1, maxWait: 0, reclaimAfter: 30s"),
		"a time of day":   bulkhead("limit: 1, reclaimAfter: 1:30"),
		"a date":          bulkhead("service: 2020-01-01, limit: 1, reclaimAfter: 30s"),
		"base64":          bulkhead("service: !!binary YQ==, limit: 1, reclaimAfter: 30s"),
		"null":            bulkhead("limit: 1, maxWait: ~, queue: null, reclaimAfter: 30s"),
		"null, required":  bulkhead("limit: ~, reclaimAfter: 30s"),
		"an empty string": bulkhead(`limit: 1, maxWait: "", reclaimAfter: 30s`),
	},
	"structure": {
		"no spec":             head,
		"a spec of null":      head + "spec:\n",
		"a list for a spec":   head + "spec: []\n",
		"a list of fields":    head + "spec: [{limit: 3}, {reclaimAfter: 30s}]\n",
		"no indentation":      head + "spec:\nlimit: 1\nreclaimAfter: 30s\n",
		"an unknown field":    bulkhead("limit: 1, reclaimAfter: 30s, limits: 1"),
		"a capital letter":    bulkhead("Limit: 1, reclaimAfter: 30s"),
		"beside spec":         right + "extra: 1\n",
		"a status":            right + "status: {observedGeneration: 3}\n",
		"a number for status": right + "status: 5\n",
		"unknown in status":   right + "status: {phase: Done}\n",
	},
	"aliases": {
		"an alias":           head + "spec:\n  limit: &l 1\n  reclaimAfter: 30s\n  queue: {capacity: *l}\n",
		"an unknown one":     bulkhead("limit: *l, reclaimAfter: 30s"),
		"one inside itself":  head + "spec: &s {limit: 1, reclaimAfter: 30s, queue: *s}\n",
		"a merge":            head + "spec:\n  <<: {limit: 1}\n  reclaimAfter: 30s\n",
		"a merge of several": head + "spec:\n  <<: [{limit: 1}, {reclaimAfter: 30s}]\n",
		"a merge of a fault": head + "spec:\n  <<: {limit: -1}\n  reclaimAfter: 30s\n",
	},
	"bytes": {
		"a byte order mark": "\ufeff" + right,
		"carriage returns":  strings.ReplaceAll(right, "\n", "\r\n"),
		"a tab":             head + "spec:\n\tlimit: 1\n",
		"a template":        bulkhead("limit: {{ .Values.limit }}, reclaimAfter: 30s"),
		"latin 1":           "# gr\xfc\xdfe\n" + right,
		"latin 1, a value":  with("name: gr\xfc\xdfe, labels: {}"),
		"UTF-16":            "\xff\xfe" + strings.Join(strings.Split(right, ""), "\x00") + "\x00",
		"UTF-16, no mark":   strings.Join(strings.Split(right, ""), "\x00") + "\x00",
	},
	"documents": {
		"a separator":        "# bulkheads\n---\n" + right,
		"empty ones":         "---\n---\n" + right + "---\n",
		"a comment after it": "--- # payments\n" + right,
		"a text after it":    "--- payments\n" + right,
		"four dashes":        "----\n" + right,
		"an end":             right + "...\n",
		"the second wrong":   right + "---\n" + strings.Replace(bulkhead("limit: -1, reclaimAfter: 30s"), "payments", "b", 1),
		"JSON":               inJSON(`"limit":1,"reclaimAfter":"30s"`),
		"JSON, a comma":      inJSON(`"limit":1,"reclaimAfter":"30s",`),
		"JSON, a brace":      inJSON(`"limit":1,"reclaimAfter":"30s"`) + "}",
		"two of JSON":        inJSON(`"limit":1,"reclaimAfter":"30s"`) + "\n" + strings.Replace(inJSON(`"limit":-1,"reclaimAfter":"30s"`), "payments", "b", 1),
		"in braces":          "{" + strings.ReplaceAll(strings.TrimSpace(right), "\n", ", ") + "}",
	},
	"lists": {
		"of what is right":    list(inJSON(`"limit":1,"reclaimAfter":"30s"`)),
		"of what is wrong":    list(inJSON(`"limit":-1,"reclaimAfter":"30s"`)),
		"typed":               typedList("{metadata: {name: a}, spec: {limit: 1, reclaimAfter: 30s}}"),
		"typed, wrong":        typedList("{metadata: {name: a}, spec: {limit: -1, reclaimAfter: 30s}}"),
		"typed, half a type":  typedList("{kind: ServiceBulkhead, metadata: {name: a}, spec: {limit: 1, reclaimAfter: 30s}}"),
		"typed, of null":      typedList("null"),
		"typed, of a number":  typedList("3"),
		"typed, of a Secret":  typedList("{apiVersion: v1, kind: Secret, metadata: {name: a}}"),
		"typed, written, too": typedList(inJSON(`"limit":1,"reclaimAfter":"30s"`)),
	},
	"metadata": {
		"no name":            with(""),
		"a name to be made":  with("generateName: payments-"),
		"a capital name":     with("name: Payments, labels: {}"),
		"a name of 1":        with("name: 1"),
		"a long name":        with("name: " + strings.Repeat("a", 64)),
		"a label of 1":       with("name: payments, labels: {a: 1}"),
		"labels of others":   with("name: payments, labels: {version: 1.0, on-call: true}"),
		"an annotation of 1": with("name: payments, annotations: {a: 1}"),
		"a label of spaces":  with(`name: payments, labels: {a: "b c"}`),
		"a label of null":    with("name: payments, labels: {a: ~}"),
		"labels of null":     with("name: payments, labels: ~"),
		"an annotation":      with(`name: payments, annotations: {"a b": c}`),
		"an unknown field":   with("name: payments, label: {}"),
		"a finalizer":        with("name: payments, finalizers: [x]"),
		"an empty owner":     with("name: payments, ownerReferences: [{}]"),
		"a namespace":        with("name: payments, namespace: default"),
		"a time of null":     with("name: payments, creationTimestamp: null"),
		"a time of words":    with("name: payments, creationTimestamp: today"),
	},
	"kinds": {
		"another version": strings.Replace(right, "v1alpha1", "v1", 1),
		"small letters":   strings.Replace(right, "kind: S", "kind: s", 1),
		"no kind":         strings.Replace(right, "kind: ServiceBulkhead\n", "", 1),
		"no apiVersion":   strings.Replace(right, "apiVersion: servicebulkhead.io/v1alpha1\n", "", 1),
	},
}

var _ = Describe("The verdict is that of kubectl apply", func() {
	for group, cases := range manifests {
		It("about "+group, func(ctx context.Context) {
			var accepted, refused int
			for name, manifest := range cases {
				want, got := apply(ctx, manifest), check(manifest)
				if got.accepted != want.accepted {
					AddReportEntry(name, manifest)
					Expect(got.words).To(Equal(want.words), "about %s kubectl says otherwise", name)
				}
				if want.accepted {
					accepted++
				} else {
					refused++
				}
			}
			GinkgoWriter.Printf("%d accepted, %d refused\n", accepted, refused)
			Expect(refused).NotTo(BeZero(), "manifests that kubectl refuses")
		})
	}

	// kubectl keeps the last of the two, so that the API server, which refuses such
	// an object from others, never sees the first.
	It("but for a key that stands twice", func(ctx context.Context) {
		manifest := bulkhead("limit: 1, limit: 2, reclaimAfter: 30s")
		Expect(apply(ctx, manifest).accepted).To(BeTrue())
		Expect(check(manifest)).To(Equal(verdict{words: "<stdin>:4: ServiceBulkhead payments: spec.limit: Forbidden: duplicate field\n" +
			"checked 1 ServiceBulkhead, skipped 0 other objects: 1 error, 0 warnings\n"}))
	})
})
