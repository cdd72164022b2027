// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// slow is a change that no pod is told of: it arrives when the kubelet looks at its
// pods for its own reasons. It is made early, and looked at late.
type slow struct {
	pods []*corev1.Pod
	took chan took
}

// settled is how long after its start a pod is left alone.
const settled = 15 * time.Second

type took struct {
	first, last time.Duration
	err         error
}

var theSlow *slow

// getSlow makes the change when it is first asked for.
func getSlow(ctx context.Context) *slow {
	GinkgoHelper()
	if theSlow != nil {
		return theSlow
	}
	namespace := lastingNamespace(ctx, "slow")
	applyObjects(ctx, bulkhead(namespace, "payments", 3))
	kubectl(ctx, "-n", namespace, "wait", "--for=condition=Ready", "--timeout=60s", "servicebulkhead/payments")
	d := shop(namespace, "shop", 2, "http://127.0.0.1:1")
	delete(d.Spec.Template.Labels, nudgeLabel)
	applyObjects(ctx, d)
	s := &slow{pods: ready(ctx, namespace, "shop", 2), took: make(chan took, 1)}
	Expect(limits(ctx, s.pods)).To(HaveEach(int32(3)), "pods that start later have the limit from their first call on")
	go func() {
		pause(lasting, settled) // until the kubelet has no more reasons of the start's to look at them
		began := time.Now()
		if err := trySpec(lasting, namespace, 4); err != nil {
			s.took <- took{err: err}
			return
		}
		first, last, err := timeToForce(lasting, s.pods, 4, began)
		s.took <- took{first, last, err}
	}()
	theSlow = s
	return s
}

var _ = Describe("Pods of a plain installation", Label("slow"), first, func() {
	It("start with the limit", func(ctx context.Context) { getSlow(ctx) }, specLimit)
})

var _ = Describe("Pods that nobody tells of changes", Label("slow"), late, func() {
	It("follow a change in their kubelet's own time", func(ctx context.Context) {
		var t took
		Eventually(getSlow(ctx).took).WithContext(ctx).WithTimeout(4 * time.Minute).Should(Receive(&t))
		Expect(t.err).NotTo(HaveOccurred())
		note("change, not nudged", "in force in the first and the last of 2 pods", "%s, %s",
			t.first.Round(100*time.Millisecond), t.last.Round(100*time.Millisecond))
	}, specLimit)
})

var _ = Describe("A kubelet that is killed", Label("kubelet"), later, func() {
	It("finds its pods as they were, and brings them changes as before", func(ctx context.Context) {
		if !own() {
			Skip("the node's processes cannot be seen from here, so that its kubelet cannot be killed")
		}
		running, err := kubelets()
		Expect(err).NotTo(HaveOccurred())
		Expect(running).To(HaveLen(1))
		f := getFleet(ctx)
		before := containersOf(ctx, f.pods)
		began := time.Now()
		step(ctx, "the kubelet is killed, and the limit changes", func(ctx context.Context) {
			Expect(syscall.Kill(running[0], syscall.SIGKILL)).To(Succeed())
			f.limit++
			patchSpec(ctx, f.namespace, f.limit)
			Eventually(kubelets).Should(And(HaveLen(1), Not(Equal(running))), "the node starts it again")
			inForce(ctx, f.pods, f.limit)
		})
		note("kubelet", "killed, change in force in all 20 pods", "after %s", since(began))
		Expect(containersOf(ctx, f.pods)).To(Equal(before), "no container was started again")
	}, specLimit)
})

// containersOf tells the containers of pods from others, by pod.
func containersOf(ctx context.Context, pods []*corev1.Pod) map[string][]string {
	GinkgoHelper()
	all := map[string][]string{}
	for _, pod := range pods {
		var now corev1.Pod
		Expect(cluster.client.Get(ctx, client.ObjectKeyFromObject(pod), &now)).To(Succeed())
		all[pod.Name] = containers(&now)
	}
	return all
}
