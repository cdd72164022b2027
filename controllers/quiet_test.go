// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// written are the counters that stand still in the steady state.
var written = []string{
	"servicebulkhead_configmap_writes_total", "servicebulkhead_status_writes_total",
	"servicebulkhead_publish_duration_seconds_count", "controller_runtime_reconcile_errors_total",
}

var _ = Describe("The steady state", func() {
	It("is quiet over ten resyncs", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		foreign := mapOf(namespace)
		foreign.Name = "foreign-bulkheads"
		Expect(admin.Create(ctx, foreign)).To(Succeed())
		operator := startProcess(namespace, "--resync-period=1s")

		for _, name := range []string{"payments", "search"} {
			Eventually(state(ctx, create(ctx, namespace, name))).Should(bePublished())
		}
		Eventually(state(ctx, create(ctx, namespace, "rival", service("payments")))).Should(ContainSubstring("ServiceConflict"))
		Eventually(state(ctx, create(ctx, namespace, "elsewhere", func(b *v1alpha1.ServiceBulkhead) {
			b.Spec.ConfigMapName = foreign.Name
		}))).Should(ContainSubstring("ConfigMapConflict"))

		before, err := operator.metrics(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(before).To(HaveKeyWithValue(written[0], BeEquivalentTo(2)))
		Expect(before).To(And(
			HaveKeyWithValue("servicebulkhead_bulkheads", BeEquivalentTo(4)),
			HaveKeyWithValue("servicebulkhead_published_documents", BeEquivalentTo(1)),
			HaveKeyWithValue("servicebulkhead_published_entries", BeEquivalentTo(2)),
			HaveKeyWithValue("servicebulkhead_publish_duration_seconds_count", BeNumerically(">=", 2)),
			HaveKeyWithValue("servicebulkhead_publish_duration_seconds_sum", BeNumerically("<", defaultTimeout.Seconds())),
		))
		versions := resourceVersions(ctx, namespace)
		Expect(versions).To(HaveLen(4 + 3)) // every namespace has kube-root-ca.crt

		// A resync brings at most five passes, one for each object that is watched: our
		// ConfigMap and the four bulkheads. So many passes are at least ten resyncs, with
		// some to spare for what was still under way.
		const passes = 10*5 + 10
		began, enough := time.Now(), before["controller_runtime_reconcile_total"]+passes
		Eventually(operator.metrics).WithContext(ctx).WithTimeout(3 * defaultTimeout).Should(
			HaveKeyWithValue("controller_runtime_reconcile_total", BeNumerically(">=", enough)))

		Expect(time.Since(began)).To(BeNumerically(">", 9*900*time.Millisecond), "ten resyncs, each up to a tenth early")
		Expect(resourceVersions(ctx, namespace)).To(Equal(versions))
		after, err := operator.metrics(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, name := range written {
			Expect(after).To(HaveKeyWithValue(name, before[name]))
		}
		Expect(operator.complaints()).To(BeEmpty())
	})

	It("mends a status that somebody edited, with the next resync", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		startManager(namespace, func(o *Options) { o.Resync = time.Second })
		payments := create(ctx, namespace, "payments")
		Eventually(state(ctx, payments)).Should(bePublished())
		kubectl(ctx, plane, "-n", namespace, "patch", "sbh", "payments", "--subresource=status", "--type=merge",
			`--patch={"status":{"conditions":[],"configMapRef":null}}`)
		Eventually(state(ctx, payments)).Should(bePublished())
	})

	It("O20: is not left when a duration is written another way", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		startManager(namespace)
		payments := create(ctx, namespace, "payments", func(b *v1alpha1.ServiceBulkhead) { b.Spec.ReclaimAfter = "60s" })
		Eventually(state(ctx, payments)).Should(bePublished())
		before := resourceVersions(ctx, namespace)
		ref := *payments.Status.ConfigMapRef

		update(ctx, payments, func(b *v1alpha1.ServiceBulkhead) { b.Spec.ReclaimAfter = "1m" })
		Eventually(state(ctx, payments)).Should(bePublished())
		Expect(*payments.Status.ConfigMapRef).To(Equal(ref))
		before["ServiceBulkhead payments"] = payments.ResourceVersion // its observedGeneration
		Consistently(func() map[string]string { return resourceVersions(ctx, namespace) }).Should(Equal(before))
	})
})
