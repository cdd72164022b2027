// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// rule is a row of the table that Validate is tested with too.
type rule struct {
	Case    string         `json:"case"`
	Name    string         `json:"name"`
	Spec    map[string]any `json:"spec"`
	Field   string         `json:"field"`
	Message string         `json:"message"`
}

func (r rule) object() *unstructured.Unstructured {
	return object(cmp.Or(r.Name, "payments"), r.Spec)
}

func (r rule) refusals() []refusal {
	if r.Field == "" {
		return nil
	}
	return []refusal{{r.Field, r.Message}}
}

// refusal is one mistake that somebody is told about.
type refusal struct{ Field, Message string }

// asides are what the API server adds, of no field, to some kinds of mistake: that
// it looked no further, or the mistake once more.
var asides = []string{"some validation rules were not checked", "Checked value must be of type"}

// refusals reads the API server's answer, without the asides.
func refusals(err error) (out []refusal) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	for _, cause := range status.Status().Details.Causes {
		aside := func(text string) bool { return cause.Field == "<nil>" && strings.Contains(cause.Message, text) }
		if !slices.ContainsFunc(asides, aside) {
			out = append(out, refusal{cause.Field, cause.Message})
		}
	}
	return out
}

func refusalsOf(errs field.ErrorList) (out []refusal) {
	for _, err := range errs {
		out = append(out, refusal{err.Field, err.ErrorBody()})
	}
	return out
}

// tryToCreate asks the API server without leaving anything behind.
func tryToCreate(ctx context.Context, u *unstructured.Unstructured) error {
	_, err := bulkheads.Create(ctx, u, metav1.CreateOptions{DryRun: dryRun})
	return err
}

func expectRefusals(err error, want []refusal) {
	GinkgoHelper()
	if want == nil {
		Expect(err).NotTo(HaveOccurred())
		return
	}
	Expect(apierrors.IsInvalid(err)).To(BeTrue(), "got %v", err)
	Expect(refusals(err)).To(Equal(want), "the whole answer: %v", err)
}

var _ = Describe("The API server, alone", func() {
	It("D3: has the rules of the table, negative durations among them, and Validate agrees with it", func(ctx context.Context) {
		for _, row := range readTable[rule](rulesFile) {
			By(row.Case)
			expectRefusals(tryToCreate(ctx, row.object()), row.refusals())

			Expect(refusalsOf(v1alpha1.Validate(typed(row.object())))).To(Equal(row.refusals()), row.Case)
		}
	})

	for _, row := range misfits {
		It("refuses "+row.what, func(ctx context.Context) {
			expectRefusals(tryToCreate(ctx, row.object()), []refusal{{row.field, row.message}})
		})
	}

	It("refuses an object without a spec", func(ctx context.Context) {
		u := object("payments", nil)
		delete(u.Object, "spec")
		expectRefusals(tryToCreate(ctx, u), []refusal{{"spec", "Required value"}})
	})

	// Because kubectl asks it to be strict: otherwise it drops what it does not know.
	It("refuses a misspelt field", func(ctx context.Context) {
		output, err := plane.KubectlCommand(ctx, "create", "--dry-run=server", "-f", writeManifest(misspelt)).CombinedOutput()
		Expect(err).To(HaveOccurred())
		Expect(string(output)).To(HaveSuffix(": " + misspeltAnswer + "\n"))
		Expect(tryToCreate(ctx, object("payments", map[string]any{"limit": int64(1), "maxwait": "50ms", "reclaimAfter": "30s"}))).To(Succeed())
	})

	It("never sees the second of two equal keys", func(ctx context.Context) {
		kubectl(ctx, "create", "--dry-run=server", "-f", writeManifest("{limit: 1, reclaimAfter: 30s, limit: 2}"))
	})

	DescribeTable("tells first of fields that are missing, have a wrong type or word, or are too long",
		func(ctx context.Context, field string, value any) {
			spec := map[string]any{"limit": int64(1), "maxWait": "5m", "reclaimAfter": "30s", field: value}
			if value == nil {
				delete(spec, field)
			}
			err := tryToCreate(ctx, object("payments", spec))
			Expect(refusals(err)).To(HaveExactElements(HaveField("Field", "spec."+field)), "the whole answer: %v", err)
		},
		Entry("a missing limit", "limit", nil),
		Entry("a missing window", "reclaimAfter", nil),
		Entry("a wrong type", "limit", "25"),
		Entry("a wrong word", "enforcement", "shadow"),
		Entry("a long service", "service", strings.Repeat("a", 64)),
	)

	It("tells of a number beyond its bounds beside the rest", func(ctx context.Context) {
		err := tryToCreate(ctx, object("payments", map[string]any{"limit": int64(-1), "maxWait": "5m", "reclaimAfter": "30s"}))
		Expect(refusals(err)).To(HaveLen(2), "the whole answer: %v", err)
	})

	It("tells every mistake of several at once", func(ctx context.Context) {
		err := tryToCreate(ctx, object("payments", map[string]any{
			"limit": int64(70_000), "maxWait": "2m", "reclaimAfter": "1d", "drainTimeout": "-1s",
		}))
		Expect(refusals(err)).To(HaveLen(4), "the whole answer: %v", err)
	})
})

// misfit is a value that no type of ours can hold, or that it holds like an absent
// field: Validate, which judges types, cannot see it.
type misfit struct {
	what, field string
	value       any
	message     string
}

func (m misfit) spec() map[string]any {
	spec := map[string]any{"limit": int64(1), "reclaimAfter": "30s"}
	if err := unstructured.SetNestedField(spec, m.value, strings.Split(m.field, ".")[1:]...); err != nil {
		panic(err) // a field of the table is none
	}
	return spec
}

func (m misfit) object() *unstructured.Unstructured { return object("payments", m.spec()) }

// misfits are a table for the specs above and for the reference in docs.
var misfits = []misfit{
	{
		"an empty service", "spec.service", "",
		`Invalid value: "": must be a DNS label: lower-case letters, digits and '-', with a letter or digit at both ends`,
	},
	{
		"a service that is a number", "spec.service", int64(3),
		`Invalid value: "integer": spec.service in body must be of type string: "integer"`,
	},
	{
		"an empty ConfigMap's name", "spec.configMapName", "",
		`Invalid value: "": must be a DNS label that ends in -bulkheads, such as service-bulkheads: ` +
			`no bulkhead can then point the operator at another kind of ConfigMap`,
	},
	{
		"a limit in quotes", "spec.limit", "25",
		`Invalid value: "string": spec.limit in body must be of type integer: "string"`,
	},
	{
		"half a slot", "spec.limit", 2.5,
		`Invalid value: "number": spec.limit in body must be of type integer: "number"`,
	},
	{
		"a limit beyond 32 bits", "spec.limit", int64(5_000_000_000),
		`Invalid value: 5000000000: spec.limit in body should be less than or equal to 65536`,
	},
	{
		"a bare 0 for a wait", "spec.maxWait", int64(0),
		`Invalid value: "integer": spec.maxWait in body must be of type string: "integer"`,
	},
	{"an empty wait", "spec.maxWait", "", notADuration},
	{
		"a bare number for a window", "spec.reclaimAfter", int64(30),
		`Invalid value: "integer": spec.reclaimAfter in body must be of type string: "integer"`,
	},
	{"an empty window", "spec.reclaimAfter", "", notADuration},
	{
		"an empty onReclaim", "spec.onReclaim", "",
		`Unsupported value: "": supported values: "Cancel", "Release"`,
	},
	{
		"an empty enforcement", "spec.enforcement", "",
		`Unsupported value: "": supported values: "Enforce", "Shadow"`,
	},
	{
		"a queue of nothing", "spec.queue.capacity", int64(0),
		`Invalid value: 0: spec.queue.capacity in body should be greater than or equal to 1`,
	},
	{
		"a bare number for a drain", "spec.drainTimeout", int64(20),
		`Invalid value: "integer": spec.drainTimeout in body must be of type string: "integer"`,
	},
	{"an empty drain", "spec.drainTimeout", "", notADuration},
}

const (
	notADuration = `Invalid value: "": must be a duration such as 50ms, 30s or 1m30s: one to four whole numbers, each with its unit h, m, s or ms; ` +
		`no sign, no fraction, no days, and 0 needs a unit too (0s)`

	misspelt       = "{limit: 1, maxwait: 50ms, reclaimAfter: 30s}"
	misspeltAnswer = `ServiceBulkhead in version "v1alpha1" cannot be handled as a ServiceBulkhead: ` +
		`strict decoding error: unknown field "spec.maxwait"`
)
