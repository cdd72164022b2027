// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

var _ = Describe("The nudge", func() {
	It("is for running pods that ask for it and mount the map, and for no others", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		startManager(namespace, nudging)
		one, other := running(ctx, namespace, "one"), running(ctx, namespace, "other")
		silent := running(ctx, namespace, "silent", unlabelledPod)
		elsewhere := running(ctx, namespace, "elsewhere", mounting("other-bulkheads"))
		waiting := createPod(ctx, pod(namespace, "waiting"))
		stuck := running(ctx, namespace, "stuck", bySubPath)

		payments := create(ctx, namespace, "payments")
		Eventually(state(ctx, payments)).Should(bePublished())
		first := revision(ctx, namespace)
		Eventually(told(ctx, one)).Should(Equal(first), "it is older than the map")
		Eventually(told(ctx, other)).Should(Equal(first))

		update(ctx, payments, limit(50))
		Eventually(limits(ctx, namespace)).Should(HaveKeyWithValue("payments", 50))
		second := revision(ctx, namespace)
		Expect(second).NotTo(Equal(first))
		Eventually(told(ctx, one)).Should(Equal(second))
		Eventually(told(ctx, other)).Should(Equal(second))

		run(ctx, waiting, time.Hour) // the kubelet had acknowledged it before the write
		Eventually(told(ctx, waiting)).Should(Equal(second), "it had mounted the older document")
		Eventually(eventsOf(ctx, stuck)).Should(ConsistOf(And(HavePrefix("SubPath: "), ContainSubstring("mount the whole ConfigMap"))))
		Consistently(allTold(ctx, namespace)).Should(Equal(map[string]int{second: 3, "": 3}))
		for _, p := range []*corev1.Pod{silent, elsewhere, stuck} {
			Expect(told(ctx, p)(NewWithT(GinkgoTB()))).To(BeEmpty(), p.Name)
		}
	})

	It("leaves alone pods that started after the write, or are about to go", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		startManager(namespace, nudging)
		hold := func(p *corev1.Pod) { p.Finalizers = []string{"example.com/hold"} }
		ending := running(ctx, namespace, "ending", hold)
		DeferCleanup(func(ctx context.Context) {
			before := ending.DeepCopy()
			ending.Finalizers = nil
			Expect(admin.Patch(ctx, ending, client.MergeFrom(before))).To(Succeed())
		})
		Expect(admin.Delete(ctx, ending)).To(Succeed())
		over := createPod(ctx, pod(namespace, "over"))
		before := over.DeepCopy()
		over.Status.Phase = corev1.PodSucceeded
		Expect(admin.Status().Patch(ctx, over, client.MergeFrom(before))).To(Succeed())

		Eventually(state(ctx, create(ctx, namespace, "payments"))).Should(bePublished())
		young := run(ctx, createPod(ctx, pod(namespace, "young")), -time.Minute) // by a clock that is ahead
		old := running(ctx, namespace, "old")
		Eventually(told(ctx, old)).ShouldNot(BeEmpty())
		versions := podVersions(ctx, namespace)
		Consistently(func() map[string]string { return podVersions(ctx, namespace) }).Should(Equal(versions))
		Expect(told(ctx, young)(NewWithT(GinkgoTB()))).To(BeEmpty())
		Expect(allTold(ctx, namespace)(NewWithT(GinkgoTB()))).To(HaveKeyWithValue("", 3))
	})

	It("touches no pod over ten resyncs, nor when the operator is replaced", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		for i := range 5 {
			running(ctx, namespace, fmt.Sprint("pod-", i))
		}
		running(ctx, namespace, "stuck", bySubPath)
		flags := []string{"--nudge", "--nudge-rate=500", "--resync-period=1s"}
		operator := startProcess(namespace, flags...)
		Eventually(state(ctx, create(ctx, namespace, "payments"))).Should(bePublished())
		Eventually(allTold(ctx, namespace)).Should(Equal(map[string]int{revision(ctx, namespace): 5, "": 1}))
		// Two that started after the write, and were not nudged.
		run(ctx, createPod(ctx, pod(namespace, "later")), -time.Minute)
		run(ctx, createPod(ctx, pod(namespace, "latest")), -2*time.Minute)
		versions := podVersions(ctx, namespace)
		quiet := func(p *process) {
			GinkgoHelper()
			// Each resync brings a pass for the map and one for the bulkhead.
			Eventually(p.metrics).WithContext(ctx).WithTimeout(3 * defaultTimeout).Should(
				HaveKeyWithValue("controller_runtime_reconcile_total", BeNumerically(">=", 2*10)))
			Expect(podVersions(ctx, namespace)).To(Equal(versions))
			Expect(p.metrics(ctx)).To(And(
				HaveKeyWithValue("servicebulkhead_consumers", BeEquivalentTo(7)),
				HaveKeyWithValue("servicebulkhead_subpath_consumers", BeEquivalentTo(1)),
			))
			Expect(p.complaints()).To(BeEmpty())
		}
		quiet(operator)
		Expect(operator.metrics(ctx)).To(HaveKeyWithValue("servicebulkhead_nudges_total", BeEquivalentTo(5)))
		operator.Terminate().Wait()
		next := startProcess(namespace, flags...)
		quiet(next)
		Expect(next.metrics(ctx)).To(HaveKeyWithValue("servicebulkhead_nudges_total", BeEquivalentTo(0)))
	})

	It("brings many pods the newest of three quick changes", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		const pods = 200
		for i := range pods {
			running(ctx, namespace, fmt.Sprint("pod-", i))
		}
		operator := startProcess(namespace, "--nudge", "--nudge-rate=200")
		payments := create(ctx, namespace, "payments")
		Eventually(allTold(ctx, namespace)).Should(HaveLen(2), "it has begun")
		for n := range int32(3) {
			update(ctx, payments, limit(n))
			Eventually(limits(ctx, namespace)).Should(HaveKeyWithValue("payments", int(n)))
		}
		Eventually(allTold(ctx, namespace)).WithTimeout(3 * defaultTimeout).Should(Equal(map[string]int{revision(ctx, namespace): pods}))
		versions := podVersions(ctx, namespace)
		Consistently(func() map[string]string { return podVersions(ctx, namespace) }).Should(Equal(versions))
		Expect(operator.complaints()).To(BeEmpty())
	})

	It("is off unless asked for: no pod is looked at", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		g := newGate()
		startProcess(namespace, "--kubeconfig="+g.kubeconfig)
		p := running(ctx, namespace, "one")
		Eventually(state(ctx, create(ctx, namespace, "payments"))).Should(bePublished())
		Consistently(told(ctx, p)).Should(BeEmpty())
		Expect(g.asked()).To(ContainElement(ContainSubstring("/servicebulkheads")))
		Expect(g.asked()).NotTo(ContainElement(ContainSubstring("/pods")))
	})

	It("needs nothing to be told of a document that was not written", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		startManager(namespace, nudging)
		p := running(ctx, namespace, "one")
		payments := create(ctx, namespace, "payments")
		Eventually(state(ctx, payments)).Should(bePublished())
		published := revision(ctx, namespace)
		Eventually(told(ctx, p)).Should(Equal(published))

		edit(ctx, mapOf(namespace), func(object *corev1.ConfigMap) { object.Immutable = new(true) })
		update(ctx, payments, limit(50))
		Eventually(state(ctx, payments)).Should(ContainSubstring(v1alpha1.ReasonConfigMapImmutable))
		Consistently(told(ctx, p)).Should(Equal(published), "that is what the ConfigMap holds")
	})
})
