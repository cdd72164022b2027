// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// goneFor is how long the files are gone in O06.
const goneFor = 30 * time.Second

// The life of an application with one bulkhead, from the day on which neither has an
// operator to the day on which the bulkhead is deleted.
var _ = Describe("An application with a bulkhead", Ordered, Label("life"), func() {
	var (
		namespace string
		pods      []*corev1.Pod
	)

	BeforeAll(func(ctx context.Context) {
		installNudge(ctx)
		namespace = newNamespace(ctx, "life")
		applyObjects(ctx, payments(namespace), service(namespace, "payments", paymentsPort))
		ready(ctx, namespace, "payments", 1)
	}, specLimit)

	It("runs without a limit when both are applied in one go and no operator runs; with one, the limit is in force in every pod", func(ctx context.Context) {
		scale(ctx, 0)
		applyObjects(ctx, shop(namespace, "shop", 2, serviceURL(ctx, namespace, "payments")), bulkhead(namespace, "payments", 3))
		pods = ready(ctx, namespace, "shop", 2)
		Expect(limits(ctx, pods)).To(HaveEach(int32(words.Unlimited)))
		answers, peak := overload(ctx, namespace, pods[0])
		Expect(answers).To(Equal(map[int]int{200: calls}))
		Expect(peak).To(BeNumerically(">", 3), "nothing limits the calls")

		began := time.Now()
		scale(ctx, 2)
		inForce(ctx, pods, 3)
		note("operator", "comes up, limit in force in 2 pods", "%s after it was asked to", since(began))
		expectLimit(ctx, namespace, pods, 3)
	}, specLimit)

	It("O02 applies each of three changes in a row", func(ctx context.Context) {
		before, err := statesOf(ctx, pods)
		Expect(err).NotTo(HaveOccurred())
		for limit := int32(4); limit <= 6; limit++ {
			step(ctx, fmt.Sprintf("the limit becomes %d", limit), func(ctx context.Context) {
				patchLimit(ctx, namespace, limit)
				inForce(ctx, pods, limit)
			})
		}
		now, err := statesOf(ctx, pods)
		Expect(err).NotTo(HaveOccurred())
		for i, after := range now {
			Expect(after.Source.Reloads).To(Equal(before[i].Source.Reloads+3), "documents applied by %s", pods[i].Name)
			Expect(after.Source.Failures).To(Equal(before[i].Source.Failures))
		}
		expectLimit(ctx, namespace, pods, 6)
	}, specLimit)

	It("O10 gets its ConfigMap restored once, with one event, when somebody edits it by hand", func(ctx context.Context) {
		before := document(ctx, namespace)
		forged := strings.Replace(before.Data[bulkheadconfig.Key], `"limit": 6`, `"limit": 999`, 1)
		Expect(forged).NotTo(Equal(before.Data[bulkheadconfig.Key]))
		versions := versionsOf(ctx, before)
		stepAfterKill(ctx, "somebody edits the document", func(ctx context.Context) {
			edited := before.DeepCopy()
			edited.Data[bulkheadconfig.Key] = forged
			Expect(cluster.client.Patch(ctx, edited, client.MergeFrom(before))).To(Succeed())
			Eventually(restored).WithContext(ctx).WithArguments(namespace, before).Should(Succeed())
			Eventually(events).WithContext(ctx).WithArguments(namespace, "Restored").Should(HaveLen(1))
		})
		Consistently(events).WithContext(ctx).WithArguments(namespace, "Restored").Should(ConsistOf(HaveField("Series", BeNil())))
		Expect(versions()).To(HaveLen(2), "the edit and what restored it are all that was written")
		// A pod whose kubelet looked in between has the edit until it looks again.
		Expect(poke(ctx, pods)).To(Succeed())
		inForce(ctx, pods, 6)
		expectLimit(ctx, namespace, pods, 6)
	}, specLimit)

	It("keeps its limits when the ConfigMap is deleted, which comes back", func(ctx context.Context) {
		before := document(ctx, namespace)
		began := time.Now()
		victim := killAndWait(ctx)
		Expect(cluster.client.Delete(ctx, before.DeepCopy())).To(Succeed())
		Eventually(func(g Gomega, ctx context.Context) {
			g.Expect(limits(ctx, pods)).To(HaveEach(int32(6)))
			g.Expect(restored(ctx, namespace, before)).To(Succeed())
		}).WithContext(ctx).Should(Succeed())
		if victim != nil {
			note("operator", "killed, its Lease left to run out", "the ConfigMap was back after %s", since(began))
			Expect(forget(ctx, victim)).To(Succeed())
		}
		expectLimit(ctx, namespace, pods, 6)
	}, specLimit)

	It("O06 keeps its limits while no operator runs, refusals and restarts as well, and while its files are gone for 30 s", func(ctx context.Context) {
		step(ctx, "the operator is scaled to 0", func(ctx context.Context) { scale(ctx, 0) })
		expectLimit(ctx, namespace, pods, 6)
		refuseBadObjects(ctx, namespace)
		patchLimit(ctx, namespace, 5) // is accepted, and waits for an operator
		pods = restartOne(ctx, namespace, pods)
		expectLimit(ctx, namespace, pods, 6)

		By("the ConfigMap is deleted, and the files of the pods go with it")
		Expect(cluster.client.Delete(ctx, document(ctx, namespace))).To(Succeed())
		Eventually(func(g Gomega, ctx context.Context) {
			g.Expect(poke(ctx, pods)).To(Succeed())
			g.Expect(statesOf(ctx, pods)).To(HaveEach(HaveField("Source", And(
				HaveField("Good", false), HaveField("Error", ContainSubstring("no such file")), HaveField("Revision", Not(BeEmpty()))))))
		}).WithContext(ctx).WithPolling(time.Second).Should(Succeed())
		began := time.Now()
		restarted := restartOne(ctx, namespace, pods) // starts without a document
		Consistently(limits).WithContext(ctx).WithArguments(pods[1:]).WithTimeout(goneFor - time.Since(began)).WithPolling(time.Second).
			Should(HaveEach(int32(6)))
		pods = restarted
		Expect(limits(ctx, pods)).To(ConsistOf(int32(6), int32(words.Unlimited)))

		By("an operator comes back, and with it the files, with the limit of the meantime")
		began = time.Now()
		scale(ctx, 2)
		inForce(ctx, pods, 5)
		note("operator", "back, changed limit in force in 2 pods", "%s after it was asked to", since(began))
		expectLimit(ctx, namespace, pods, 5)
	}, specLimit)

	It("does not notice when the operator is upgraded", func(ctx context.Context) {
		documentBefore, podsBefore := document(ctx, namespace), ready(ctx, namespace, "shop", 2)
		began := time.Now()
		step(ctx, "the operator is upgraded", upgrade)
		note("operator", "upgraded, "+upgradeKind(), "in %s", since(began))
		_, _, err := awaitLeader(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(document(ctx, namespace).ResourceVersion).To(Equal(documentBefore.ResourceVersion))
		for i, pod := range ready(ctx, namespace, "shop", 2) {
			Expect(pod.Annotations).To(Equal(podsBefore[i].Annotations))
			Expect(containers(pod)).To(Equal(containers(podsBefore[i])))
		}
		step(ctx, "a change arrives as before", func(ctx context.Context) {
			patchLimit(ctx, namespace, 4)
			inForce(ctx, pods, 4)
		})
	}, specLimit)

	It("runs on without a limit when its last bulkhead is deleted, and new pods start", func(ctx context.Context) {
		step(ctx, "the bulkhead is deleted", func(ctx context.Context) {
			kubectl(ctx, "-n", namespace, "delete", "servicebulkhead", "payments")
			inForce(ctx, pods, words.Unlimited)
		})
		doc, err := bulkheadconfig.Decode([]byte(document(ctx, namespace).Data[bulkheadconfig.Key]))
		Expect(err).NotTo(HaveOccurred())
		Expect(doc.Services).To(BeEmpty(), "the ConfigMap stays, empty, so that new pods start")
		pods = restartOne(ctx, namespace, pods)
		Expect(limits(ctx, pods)).To(HaveEach(int32(words.Unlimited)))
	}, specLimit)

	It("O22 goes with its namespace, under an operator at work", func(ctx context.Context) {
		applyObjects(ctx, bulkhead(namespace, "payments", 3), bulkhead(namespace, "search", 3))
		inForce(ctx, pods, 3)
		began := time.Now()
		step(ctx, "the namespace is deleted", func(ctx context.Context) {
			kubectl(ctx, "delete", "namespace", namespace, "--timeout=60s")
		})
		note("operator", "namespace with bulkheads and pods deleted", "gone after %s", since(began))
	}, specLimit)
})
