// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

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
	_, err := bulkheads.Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
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
	It("has the rules of the table, and Validate agrees with it", func(ctx context.Context) {
		text, err := os.ReadFile(rulesFile)
		Expect(err).NotTo(HaveOccurred())
		var rules []rule
		Expect(yaml.UnmarshalStrict(text, &rules)).To(Succeed())
		Expect(rules).NotTo(BeEmpty())
		for _, row := range rules {
			By(row.Case)
			expectRefusals(tryToCreate(ctx, row.object()), row.refusals())

			var typed v1alpha1.ServiceBulkhead
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(row.object().Object, &typed)).To(Succeed())
			Expect(refusalsOf(v1alpha1.Validate(&typed))).To(Equal(row.refusals()), row.Case)
		}
	})

	// What the Go types cannot hold, or hold like an absent field.
	DescribeTable("refuses what has no type of ours",
		func(ctx context.Context, path string, value any, message string) {
			spec := map[string]any{"limit": int64(1), "reclaimAfter": "30s"}
			Expect(unstructured.SetNestedField(spec, value, strings.Split(path, ".")[1:]...)).To(Succeed())
			expectRefusals(tryToCreate(ctx, object("payments", spec)), []refusal{{path, message}})
		},
		Entry("a bare 0 for a duration", "spec.maxWait", int64(0),
			`Invalid value: "integer": spec.maxWait in body must be of type string: "integer"`),
		Entry("a bare number for a duration", "spec.reclaimAfter", int64(30),
			`Invalid value: "integer": spec.reclaimAfter in body must be of type string: "integer"`),
		Entry("an empty duration", "spec.maxWait", "",
			`Invalid value: "": must be a duration such as 50ms, 30s or 1m30s: one to four whole numbers, each with its unit h, m, s or ms; `+
				`no sign, no fraction, no days, and 0 needs a unit too (0s)`),
		Entry("an empty service", "spec.service", "",
			`Invalid value: "": must be a DNS label: lower-case letters, digits and '-', with a letter or digit at both ends`),
		Entry("a limit in quotes", "spec.limit", "25",
			`Invalid value: "string": spec.limit in body must be of type integer: "string"`),
		Entry("half a slot", "spec.limit", 2.5,
			`Invalid value: "number": spec.limit in body must be of type integer: "number"`),
		Entry("a limit beyond 32 bits", "spec.limit", int64(5_000_000_000),
			`Invalid value: 5000000000: spec.limit in body should be less than or equal to 65536`),
		Entry("a queue of nothing", "spec.queue.capacity", int64(0),
			`Invalid value: 0: spec.queue.capacity in body should be greater than or equal to 1`),
	)

	It("refuses an object without a spec", func(ctx context.Context) {
		u := object("payments", nil)
		delete(u.Object, "spec")
		expectRefusals(tryToCreate(ctx, u), []refusal{{"spec", "Required value"}})
	})

	It("tells every mistake of several at once", func(ctx context.Context) {
		err := tryToCreate(ctx, object("payments", map[string]any{
			"limit": int64(70_000), "maxWait": "2m", "reclaimAfter": "1d", "drainTimeout": "-1s",
		}))
		Expect(refusals(err)).To(HaveLen(4), "the whole answer: %v", err)
	})
})
