// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

var _ = Describe("Of an existing bulkhead, the API server", func() {
	create := func(ctx context.Context, name string, extra map[string]any) *unstructured.Unstructured {
		GinkgoHelper()
		spec := map[string]any{"limit": int64(1), "reclaimAfter": "30s"}
		maps.Copy(spec, extra)
		u, err := bulkheads.Create(ctx, object(name, spec), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx context.Context) error { return bulkheads.Delete(ctx, name, metav1.DeleteOptions{}) })
		return u
	}
	merge := func(ctx context.Context, name, patch string) error {
		_, err := bulkheads.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}

	It("fills in the defaults, and nothing else", func(ctx context.Context) {
		create(ctx, "defaults", map[string]any{"queue": map[string]any{"capacity": int64(1)}})
		u, err := bulkheads.Get(ctx, "defaults", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(u.Object["spec"]).To(Equal(map[string]any{
			"configMapName": "service-bulkheads", "limit": int64(1), "reclaimAfter": "30s",
			"onReclaim": "Cancel", "enforcement": "Enforce", "queue": map[string]any{"capacity": int64(1)},
		}))
		Expect(u.Object["status"]).To(Equal(map[string]any{"observedGeneration": int64(-1)}))
	})

	for _, row := range immutable {
		It("refuses to change "+row.what, func(ctx context.Context) {
			create(ctx, "payments", row.before)
			expectRefusals(merge(ctx, "payments", row.patch), []refusal{{row.field, row.message}})
		})
	}

	DescribeTable("lets implied names be written out, and left out again",
		func(ctx context.Context, before map[string]any, patch string) {
			create(ctx, "implied", before)
			Expect(merge(ctx, "implied", patch)).To(Succeed())
		},
		Entry("a service written out", nil, `{"spec":{"service":"implied"}}`),
		Entry("a service left out", map[string]any{"service": "implied"}, `{"spec":{"service":null}}`),
		Entry("a ConfigMap written out", nil, `{"spec":{"configMapName":"service-bulkheads"}}`),
		Entry("a ConfigMap left out", map[string]any{"configMapName": "service-bulkheads"}, `{"spec":{"configMapName":null}}`),
	)

	It("lets everything else be changed", func(ctx context.Context) {
		create(ctx, "changed", nil)
		Expect(merge(ctx, "changed", `{"spec":{"limit":0,"maxWait":"1s","reclaimAfter":"1m","onReclaim":"Release",
			"enforcement":"Shadow","queue":{"capacity":2,"maxConcurrency":1},"drainTimeout":"5s"}}`)).To(Succeed())
	})

	It("checks a change against what stays", func(ctx context.Context) {
		create(ctx, "across", nil)
		expectRefusals(merge(ctx, "across", `{"spec":{"maxWait":"30s"}}`), []refusal{{"spec.reclaimAfter",
			"Invalid value: must be longer than spec.maxWait: otherwise waiting calls are admitted on top of calls that still run"}})
	})

	It("never shows a status that has been emptied as one that is done", func(ctx context.Context) {
		create(ctx, "emptied", nil)
		Expect(merge(ctx, "emptied", `{"status":{"observedGeneration":1}}`)).To(Succeed())
		u, err := bulkheads.Patch(ctx, "emptied", types.JSONPatchType,
			[]byte(`[{"op":"replace","path":"/status","value":{}}]`), metav1.PatchOptions{}, "status")
		Expect(err).NotTo(HaveOccurred())
		Expect(u.Object["status"]).To(Equal(map[string]any{"observedGeneration": int64(-1)}))
	})

	It("keeps spec and status apart, and a status applied twice writes once", func(ctx context.Context) {
		create(ctx, "apart", nil)
		Expect(merge(ctx, "apart", `{"status":{"observedGeneration":7}}`)).To(Succeed())

		status := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": "ServiceBulkhead",
			"metadata": map[string]any{"name": "apart", "namespace": "default"},
			"spec":     map[string]any{"limit": 9},
			"status":   map[string]any{"observedGeneration": 1},
		}}
		write := func() *unstructured.Unstructured {
			GinkgoHelper()
			u, err := bulkheads.ApplyStatus(ctx, "apart", status, metav1.ApplyOptions{FieldManager: "test", Force: true})
			Expect(err).NotTo(HaveOccurred())
			return u
		}
		first := write()
		Expect(first.Object["status"]).To(Equal(map[string]any{"observedGeneration": int64(1)}))
		Expect(first.Object["spec"]).To(HaveKeyWithValue("limit", int64(1)))
		Expect(first.GetGeneration()).To(Equal(int64(1)))
		Expect(write().GetResourceVersion()).To(Equal(first.GetResourceVersion()))
	})
})

// forbiddenChange is one that only shows beside what was there before.
type forbiddenChange struct {
	what           string
	before         map[string]any
	patch          string
	field, message string
}

const (
	serviceIsImmutable = "is immutable: running pods that ask for the old name would lose their protection; " +
		"add a second bulkhead, roll the pods, then delete this one"
	configMapNameIsImmutable = "is immutable: pods that mount the old ConfigMap would lose their protection; " +
		"add a second bulkhead, roll the pods, then delete this one"
)

// immutable is a table for the specs above and for the reference in docs.
var immutable = []forbiddenChange{
	{
		"a service", map[string]any{"service": "a"}, `{"spec":{"service":"b"}}`,
		"spec.service", "Invalid value: " + serviceIsImmutable,
	},
	{
		"a service that was implied", nil, `{"spec":{"service":"b"}}`,
		"spec.service", "Invalid value: " + serviceIsImmutable,
	},
	{
		"a service, by leaving it out", map[string]any{"service": "a"}, `{"spec":{"service":null}}`,
		"spec.service", "Invalid value: " + serviceIsImmutable,
	},
	{
		"a ConfigMap's name", map[string]any{"configMapName": "a-bulkheads"}, `{"spec":{"configMapName":"b-bulkheads"}}`,
		"spec.configMapName", `Invalid value: "b-bulkheads": ` + configMapNameIsImmutable,
	},
	{
		"a ConfigMap's name that was implied", nil, `{"spec":{"configMapName":"b-bulkheads"}}`,
		"spec.configMapName", `Invalid value: "b-bulkheads": ` + configMapNameIsImmutable,
	},
	{
		"a ConfigMap's name, by leaving it out", map[string]any{"configMapName": "a-bulkheads"}, `{"spec":{"configMapName":null}}`,
		"spec.configMapName", `Invalid value: "service-bulkheads": ` + configMapNameIsImmutable,
	},
}
