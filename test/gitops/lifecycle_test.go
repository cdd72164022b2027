// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var _ = Describe("kstatus and the health script", func() {
	var namespace string
	now := NewWithT(GinkgoTB())
	apply := func(ctx context.Context, object, spec string) {
		GinkgoHelper()
		kubectl(ctx, "-n", namespace, "apply", "-f", payments(object, spec))
	}

	It("O26: follow a bulkhead from its creation to its end", func(ctx context.Context) {
		namespace = newNamespace(ctx, "lifecycle")
		By("created, and not seen yet")
		apply(ctx, "payments", "limit: 1, reclaimAfter: 30s")
		Expect(state(ctx, namespace, "payments")(now)).To(Equal(inProgress))
		stop := startOperator(namespace)
		Eventually(state(ctx, namespace, "payments")).Should(Equal(current))

		By("changed, and seen")
		for limit := range 2 {
			apply(ctx, "payments", fmt.Sprintf("limit: %d, reclaimAfter: 30s", limit+2))
			Eventually(generations(ctx, namespace, "payments")).Should(HaveExactElements(int64(limit+2), int64(limit+2)))
			Expect(state(ctx, namespace, "payments")(now)).To(Equal(current))
		}

		By("changed, and not seen yet")
		stop()
		apply(ctx, "payments", "limit: 4, reclaimAfter: 30s")
		Expect(generations(ctx, namespace, "payments")(now)).To(HaveExactElements(int64(4), int64(3)))
		Expect(kubectl(ctx, "-n", namespace, "get", "sbh", "payments", "-o",
			`jsonpath={.status.conditions[?(@.type=="Ready")].status}`)).To(Equal("True"))
		Expect(state(ctx, namespace, "payments")(now)).To(Equal(inProgress))
		startOperator(namespace)
		Eventually(state(ctx, namespace, "payments")).Should(Equal(current))

		By("in conflict")
		apply(ctx, "rival", "limit: 9, reclaimAfter: 30s")
		Eventually(state(ctx, namespace, "rival")).Should(Equal(failed))
		Expect(state(ctx, namespace, "payments")(now)).To(Equal(current))

		By("deleted, while a finalizer holds it; the conflict is mended")
		kubectl(ctx, "-n", namespace, "patch", "sbh", "payments", "--type=merge", `--patch={"metadata":{"finalizers":["example.com/theirs"]}}`)
		kubectl(ctx, "-n", namespace, "delete", "sbh", "payments", "--wait=false")
		Expect(state(ctx, namespace, "payments")(now)).To(Equal(terminating))
		Eventually(state(ctx, namespace, "rival")).Should(Equal(current))
		kubectl(ctx, "-n", namespace, "patch", "sbh", "payments", "--type=merge", `--patch={"metadata":{"finalizers":null}}`)
		Eventually(state(ctx, namespace, "payments")).Should(Equal(gone))
	})

	It("tell that a person must mend the ConfigMap, and that it is mended", func(ctx context.Context) {
		namespace = newNamespace(ctx, "immutable")
		startOperator(namespace)
		apply(ctx, "payments", "limit: 1, reclaimAfter: 30s")
		Eventually(state(ctx, namespace, "payments")).Should(Equal(current))
		kubectl(ctx, "-n", namespace, "patch", "configmap", "service-bulkheads", "--type=merge", `--patch={"immutable":true}`)
		apply(ctx, "payments", "limit: 2, reclaimAfter: 30s")
		Eventually(state(ctx, namespace, "payments")).Should(Equal(failed))
		kubectl(ctx, "-n", namespace, "delete", "configmap", "service-bulkheads")
		Eventually(state(ctx, namespace, "payments")).Should(Equal(current))
		Eventually(limits(ctx, namespace)).Should(Equal(map[string]int{"payments": 2}))
	})

	It("O12: tell of the bulkhead that does not fit, and of no other", func(ctx context.Context) {
		namespace = newNamespace(ctx, "full")
		startOperator(namespace)
		apply(ctx, "payments", "limit: 1, reclaimAfter: 30s")
		Eventually(state(ctx, namespace, "payments")).Should(Equal(current))
		object, err := configMap(ctx, namespace)
		Expect(err).NotTo(HaveOccurred())
		filler := manifest(fmt.Sprintf("data: {theirs: %q}", strings.Repeat("x", 1<<20-len(object.Data["bulkheads.v1.json"])-100)))
		kubectl(ctx, "-n", namespace, "patch", "configmap", "service-bulkheads", "--type=merge", "--patch-file="+filler)

		kubectl(ctx, "-n", namespace, "apply", "-f", manifest("apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkhead\n"+
			"metadata: {name: search}\nspec: {limit: 1, reclaimAfter: 30s}\n"))
		Eventually(state(ctx, namespace, "search")).Should(Equal(failed))
		Expect(state(ctx, namespace, "payments")(now)).To(Equal(current))
		before := versions(ctx, namespace)(now)
		Consistently(versions(ctx, namespace)).Should(Equal(before))

		kubectl(ctx, "-n", namespace, "patch", "configmap", "service-bulkheads", "--type=merge", `--patch={"data":{"theirs":null}}`)
		Eventually(state(ctx, namespace, "search")).Should(Equal(current))
	})
})

// generations reads the object's, and the one that its status speaks about.
func generations(ctx context.Context, namespace, name string) func(Gomega) []int64 {
	return func(g Gomega) []int64 {
		object, err := get(ctx, namespace, name)
		g.Expect(err).NotTo(HaveOccurred())
		observed, _, err := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
		g.Expect(err).NotTo(HaveOccurred())
		return []int64{object.GetGeneration(), observed}
	}
}
