// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

var _ = Describe("A bulkhead", func() {
	var namespace string

	BeforeEach(func(ctx context.Context) {
		namespace = newNamespace(ctx)
		startManager(namespace)
	})

	It("is published in its ConfigMap, and says so", func(ctx context.Context) {
		payments := create(ctx, namespace, "payments")
		Eventually(state(ctx, payments)).Should(bePublished())
		Expect(payments.Status.Service).To(Equal("payments"))
		Expect(payments.Status.ConfigMapRef.Revision).To(Equal(entry(25).Revision()))
		Eventually(eventsOf(ctx, payments)).Should(ConsistOf(HavePrefix("Published: in ConfigMap service-bulkheads")))

		object, err := look(ctx, mapOf(namespace))()
		Expect(err).NotTo(HaveOccurred())
		Expect(object.Data).To(Equal(map[string]string{
			bulkheadconfig.Key: document(GinkgoTB(), services{"payments": entry(25)}).text,
		}))
		Expect(object.Labels).To(Equal(map[string]string{ManagedLabel: "true"}))
		Expect(object.OwnerReferences).To(BeEmpty())
		Expect(object.Finalizers).To(BeEmpty())
	})

	It("follows a change, and leaves its neighbours' status alone", func(ctx context.Context) {
		payments, search := create(ctx, namespace, "payments"), create(ctx, namespace, "search")
		Eventually(state(ctx, payments)).Should(bePublished())
		Eventually(state(ctx, search)).Should(bePublished())
		revision, neighbour := payments.Status.ConfigMapRef.Revision, search.ResourceVersion

		update(ctx, payments, limit(50))
		Eventually(limits(ctx, namespace)).Should(Equal(map[string]int{"payments": 50, "search": 25}))
		Eventually(state(ctx, payments)).Should(bePublished())
		Expect(payments.Status.ConfigMapRef.Revision).NotTo(Equal(revision))
		Consistently(look(ctx, search)).Should(HaveField("ResourceVersion", neighbour))
	})

	It("is written once more for all that follows a change within 100 ms", func(ctx context.Context) {
		payments := create(ctx, namespace, "payments")
		Eventually(state(ctx, payments)).Should(bePublished())
		object, err := look(ctx, mapOf(namespace))()
		Expect(err).NotTo(HaveOccurred())
		count, start := writes(ctx, object), time.Now()
		for i := range int32(40) {
			update(ctx, payments, limit(i))
		}
		Eventually(limits(ctx, namespace)).Should(Equal(map[string]int{"payments": 39}))
		Expect(count()).To(BeNumerically("<=", 2+time.Since(start)/burst))
	})

	It("leaves an empty document behind when it was the last", func(ctx context.Context) {
		payments := create(ctx, namespace, "payments")
		Eventually(limits(ctx, namespace)).Should(HaveLen(1))
		Expect(admin.Delete(ctx, payments)).To(Succeed())
		Eventually(limits(ctx, namespace)).Should(BeEmpty())

		Expect(look(ctx, mapOf(namespace))()).To(HaveField("DeletionTimestamp", BeNil()))
	})

	It("counts as gone while somebody's finalizer holds it back", func(ctx context.Context) {
		payments := create(ctx, namespace, "payments", func(b *v1alpha1.ServiceBulkhead) {
			b.Finalizers = []string{"example.com/theirs"}
		})
		DeferCleanup(func(ctx context.Context) {
			update(ctx, payments, func(b *v1alpha1.ServiceBulkhead) { b.Finalizers = nil })
		})
		Eventually(limits(ctx, namespace)).Should(HaveLen(1))
		Expect(admin.Delete(ctx, payments)).To(Succeed())
		Eventually(limits(ctx, namespace)).Should(BeEmpty())
	})

	It("loses against the one that has its service already, and follows it", func(ctx context.Context) {
		// The name of the first is later in the alphabet, so that it is not by its name
		// that it wins.
		first := create(ctx, namespace, "z", service("payments"))
		Eventually(state(ctx, first)).Should(bePublished())
		second := create(ctx, namespace, "a", service("payments"), limit(7))
		Eventually(state(ctx, second)).Should(Equal(
			"Accepted=False/ServiceConflict Ready=False/ServiceConflict Stalled=True/ServiceConflict "))
		Expect(meta.FindStatusCondition(second.Status.Conditions, v1alpha1.ConditionAccepted).Message).To(
			ContainSubstring("ServiceBulkhead z"))
		Consistently(limits(ctx, namespace)).Should(Equal(map[string]int{"payments": 25}))

		Expect(admin.Delete(ctx, first)).To(Succeed())
		Eventually(state(ctx, second)).Should(bePublished())
		Eventually(limits(ctx, namespace)).Should(Equal(map[string]int{"payments": 7}))
	})

	It("goes to the ConfigMap that it names, among several", func(ctx context.Context) {
		create(ctx, namespace, "payments")
		elsewhere := create(ctx, namespace, "search", func(b *v1alpha1.ServiceBulkhead) {
			b.Spec.ConfigMapName = "checkout-bulkheads"
		})
		Eventually(state(ctx, elsewhere)).Should(HavePrefix("Accepted=True/Accepted Ready=True/Published checkout-bulkheads@"))
		Eventually(limits(ctx, namespace)).Should(Equal(map[string]int{"payments": 25}))
	})
})
