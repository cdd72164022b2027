// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
)

var _ = Describe("Pods that end under load", Ordered, Label("load"), func() {
	const replicas = 4
	var (
		r      *rig
		before []*corev1.Pod
	)

	BeforeAll(func(ctx context.Context) {
		r = newRig(ctx, "rolling", replicas, func(*v1alpha1.ServiceBulkhead, *appsv1.Deployment) {})
	}, specLimit)

	// Each spec begins with its pods under load, and ends the load.
	BeforeEach(func(ctx context.Context) {
		before, r.start = ready(ctx, r.namespace, "shop", replicas), r.seen(ctx)
		r.send(ctx, rate)
	}, specLimit)

	It("lose no call in ten rolling restarts in a row (D1)", func(ctx context.Context) {
		began := time.Now()
		for n := range 10 {
			what := fmt.Sprintf("rolling restart %d", n+1)
			step(ctx, what, func(ctx context.Context) {
				start := r.seen(ctx)
				kubectl(ctx, "-n", r.namespace, "rollout", "restart", "deployment/shop")
				ended := r.endings.of(ctx, before)
				before = ready(ctx, r.namespace, "shop", replicas)
				r.expectCleanEnds(ctx, what, start, ended)
			})
		}
		sent, took := r.seen(ctx).Sent-r.start.Sent, time.Since(began)
		note("under load", "ten rolling restarts", "%v, %d requests", took.Round(100*time.Millisecond), sent)
		// Less load than that would prove less.
		Expect(float64(sent)).To(BeNumerically(">", 0.95*rate*took.Seconds()), "the generator is slower than it was told to be")
		r.expectNothingLost(ctx)
	}, specLimit)

	It("lose no call that takes longer than the lame duck time has left", func(ctx context.Context) {
		r.setLatency(ctx, "2s") // from 1 s to 3 s
		DeferCleanup(func(ctx context.Context) { r.setLatency(ctx, "20ms") })
		r.send(ctx, rate/2) // as many connections as at full rate would be the machine's test, not ours
		Eventually(r.look).WithContext(ctx).Should(HaveField("InFlight", BeNumerically(">", rate/4)))
		step(ctx, "rolling restart", func(ctx context.Context) {
			start := r.seen(ctx)
			kubectl(ctx, "-n", r.namespace, "rollout", "restart", "deployment/shop")
			ended := r.endings.of(ctx, before)
			ready(ctx, r.namespace, "shop", replicas)
			r.expectCleanEnds(ctx, "slow calls, rolling restart", start, ended)
			finished := 0
			for _, one := range ended {
				finished += one.farewell().Services["payments"].Finished
			}
			Expect(finished).NotTo(BeZero(), "no call was running when the lame duck time was over")
		})
		r.expectNothingLost(ctx)
	}, specLimit)

	It("lose no call when they become fewer, and more again", func(ctx context.Context) {
		step(ctx, "scale down and up", func(ctx context.Context) {
			start := r.seen(ctx)
			kubectl(ctx, "-n", r.namespace, "scale", "deployment/shop", "--replicas=1")
			left := ready(ctx, r.namespace, "shop", 1)[0]
			ended := r.endings.of(ctx, slices.DeleteFunc(before, func(pod *corev1.Pod) bool { return pod.Name == left.Name }))
			kubectl(ctx, "-n", r.namespace, "scale", "deployment/shop", fmt.Sprintf("--replicas=%d", replicas))
			ready(ctx, r.namespace, "shop", replicas)
			r.expectCleanEnds(ctx, "scaled to 1 and back", start, ended)
		})
		r.expectNothingLost(ctx)
	}, specLimit)

	It("lose no call when they are evicted, one after the other", func(ctx context.Context) {
		applyObjects(ctx, disruptionBudget(r.namespace, "shop"))
		step(ctx, "evict each", func(ctx context.Context) {
			start, refusals := r.seen(ctx), 0
			for _, pod := range before {
				refusals += evict(ctx, pod)
			}
			Expect(refusals).NotTo(BeZero(), "the disruption budget held nobody up")
			r.expectCleanEnds(ctx, "evicted one by one", start, r.endings.of(ctx, before))
		})
		r.expectNothingLost(ctx)
	}, specLimit)

	It("lose no call when one is deleted", func(ctx context.Context) {
		step(ctx, "delete a pod", func(ctx context.Context) {
			start := r.seen(ctx)
			kubectl(ctx, "-n", r.namespace, "delete", "pod", before[0].Name)
			r.expectCleanEnds(ctx, "one deleted", start, r.endings.of(ctx, before[:1]))
			ready(ctx, r.namespace, "shop", replicas)
		})
		r.expectNothingLost(ctx)
	}, specLimit)
})

// disruptionBudget lets one pod of an application go at a time.
func disruptionBudget(namespace, app string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: app},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(1)),
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: app}},
		},
	}
}

// evict asks for a pod's eviction, as kubectl drain does, until the disruption budget
// lets it go, and returns how often it did not.
func evict(ctx context.Context, pod *corev1.Pod) (refusals int) {
	GinkgoHelper()
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	Eventually(func(ctx context.Context) error {
		err := cluster.set.PolicyV1().Evictions(pod.Namespace).Evict(ctx, eviction)
		if apierrors.IsTooManyRequests(err) {
			refusals++
		}
		return err
	}).WithContext(ctx).Should(Succeed())
	return refusals
}

// expectCleanEnds expects that pods ended by themselves, with nothing left undone and
// before their grace period was over, and puts into the table what the clients noticed.
func (r *rig) expectCleanEnds(ctx context.Context, what string, start words.Load, ended []ending) {
	GinkgoHelper()
	var drain float64
	var used time.Duration
	for _, one := range ended {
		last := one.farewell()
		Expect(one.state.ExitCode).To(BeZero(), "pod %s ended with %s", one.pod, one.state.Reason)
		Expect(one.used()).To(BeNumerically("<", one.grace), "pod %s took its whole grace period", one.pod)
		Expect(last.Drain.LameDuckSeconds).To(BeNumerically(">=", 3), "pod %s", one.pod)
		Expect(last.Drain.Remaining).To(BeZero(), "calls of pod %s remain", one.pod)
		drain, used = max(drain, last.Drain.TotalSeconds), max(used, one.used())
	}
	seen := r.seen(ctx)
	note("under load", what, "%d pods ended; %d requests, %d shed, %d failed; the longest drain took %.2f s, %v of %v of grace",
		len(ended), seen.Sent-start.Sent, seen.Shed-start.Shed, seen.Failed-start.Failed, drain, used, ended[0].grace)
}

// expectNothingLost ends the load and expects that no request since the beginning has
// failed, that the spec's were served, and that the pods have counted just what the
// generator saw. On a machine that is too busy for the load, calls pile up to the
// limit, and some are shed, which is for a limit to do; but not for this one.
func (r *rig) expectNothingLost(ctx context.Context) {
	GinkgoHelper()
	seen, told := r.balance(ctx)
	Expect(seen.TimedOut).To(BeZero())
	of := seen.Minus(r.start.Counts)
	Expect(of.OK).To(BeNumerically(">", rate))
	Expect(of.Shed).To(BeNumerically("<=", of.OK/100), "the machine is too busy for this load, or a pod sheds that should not")
	note("under load", "all together", "%d pods have counted %d calls, the generator %d",
		len(told), sum(told, func(c words.Counts) uint64 { return c.Admitted }), seen.OK)
}
