// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

var _ = Describe("Renaming the object of a service", func() {
	now := NewWithT(GinkgoTB())
	var namespace string
	begin := func(ctx context.Context, name string) {
		GinkgoHelper()
		namespace = newNamespace(ctx, name)
		startOperator(namespace)
		kubectl(ctx, "-n", namespace, "apply", "-f", payments("payments", "limit: 25, reclaimAfter: 30s"))
		Eventually(state(ctx, namespace, "payments")).Should(Equal(current))
	}
	prune := func(ctx context.Context) { kubectl(ctx, "-n", namespace, "delete", "sbh", "payments") }

	It("converges where the new one is created before the old one is pruned; pods notice nothing", func(ctx context.Context) {
		begin(ctx, "rename")
		before := versions(ctx, namespace)(now)
		kubectl(ctx, "-n", namespace, "apply", "-f", payments("checkout", "limit: 25, reclaimAfter: 30s"))
		Eventually(state(ctx, namespace, "checkout")).Should(Equal(failed))
		Expect(kubectl(ctx, "-n", namespace, "get", "sbh", "checkout", "-o", `jsonpath={.status.conditions[?(@.type=="Stalled")].message}`)).
			To(Equal("service payments belongs to ServiceBulkhead payments in ConfigMap service-bulkheads: delete one of the two"))
		Expect(state(ctx, namespace, "payments")(now)).To(Equal(current))

		prune(ctx)
		Eventually(state(ctx, namespace, "checkout")).Should(Equal(current))
		Expect(versions(ctx, namespace)(now)["ConfigMap"]).To(Equal(before["ConfigMap"]), "the document was never written")
	})

	It("takes new values over in one step, without a moment in which the service is not listed", func(ctx context.Context) {
		begin(ctx, "rename-and-change")
		documents := watchDocuments(ctx, namespace)
		kubectl(ctx, "-n", namespace, "apply", "-f", payments("checkout", "limit: 50, reclaimAfter: 30s"))
		Eventually(state(ctx, namespace, "checkout")).Should(Equal(failed))
		prune(ctx)
		Eventually(state(ctx, namespace, "checkout")).Should(Equal(current))
		Eventually(documents).Should(Receive(Equal(map[string]int{"payments": 50})))
		Consistently(documents).ShouldNot(Receive())
	})

	It("converges where the old one is pruned first; meanwhile the service is not listed", func(ctx context.Context) {
		begin(ctx, "prune-first")
		documents := watchDocuments(ctx, namespace)
		prune(ctx)
		Eventually(documents).Should(Receive(BeEmpty()))
		kubectl(ctx, "-n", namespace, "apply", "-f", payments("checkout", "limit: 25, reclaimAfter: 30s"))
		Eventually(state(ctx, namespace, "checkout")).Should(Equal(current))
		Eventually(documents).Should(Receive(Equal(map[string]int{"payments": 25})))
	})
})

// watchDocuments sends what the document lists after each write from now on.
func watchDocuments(ctx context.Context, namespace string) <-chan map[string]int {
	GinkgoHelper()
	object, err := configMap(ctx, namespace)
	Expect(err).NotTo(HaveOccurred())
	client, err := kubernetes.NewForConfig(plane.Config)
	Expect(err).NotTo(HaveOccurred())
	watcher, err := client.CoreV1().ConfigMaps(namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + object.Name, ResourceVersion: object.ResourceVersion,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(watcher.Stop)
	documents := make(chan map[string]int, 100)
	go func() {
		defer GinkgoRecover()
		for event := range watcher.ResultChan() {
			if written, ok := event.Object.(*corev1.ConfigMap); ok {
				documents <- limitsIn(NewWithT(GinkgoTB()), written)
			}
		}
	}()
	return documents
}
