// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"io"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
)

var _ = Describe("While payments hangs, a bulkhead that cancels", Ordered, Label("load", "hang"), func() {
	const (
		replicas, limit = 2, 5
		reclaimAfter    = "6s" // longer than lame duck: calls that began before hang when it is over
	)
	var r *rig

	BeforeAll(func(ctx context.Context) {
		r = newRig(ctx, "cancel", replicas, func(b *v1alpha1.ServiceBulkhead, _ *appsv1.Deployment) {
			b.Spec.Limit, b.Spec.ReclaimAfter, b.Spec.OnReclaim = new(int32(limit)), reclaimAfter, v1alpha1.OnReclaimCancel
		})
	}, specLimit)

	It("ends calls when their slot lapses, sheds the others, and serves again by itself", func(ctx context.Context) {
		r.setLatency(ctx, "hang")
		step(ctx, "payments hangs", func(ctx context.Context) {
			r.send(ctx, rate/5)
			Eventually(r.look).WithContext(ctx).Should(HaveField("TimedOut", BeNumerically(">=", 2*replicas*limit)))
		})
		r.setLatency(ctx, "10ms")
		served := r.seen(ctx).OK
		step(ctx, "payments is well again", func(ctx context.Context) {
			Eventually(r.look).WithContext(ctx).Should(HaveField("OK", BeNumerically(">", served+rate/5)))
		})
		seen, told := r.balance(ctx)
		note("payments hangs", "onReclaim: Cancel", "%d requests: %d timed out, %d shed, %d served afterwards, %d failed",
			seen.Sent, seen.TimedOut, seen.Shed, seen.OK-served, seen.Failed-r.tooEarly)
		Expect(seen.Shed).NotTo(BeZero())
		Eventually(r.payments).WithContext(ctx).Should(HaveField("InFlight", BeZero()), "calls whose context has ended have left payments")
		Expect(lapsedIn(told)).To(BeEquivalentTo(seen.TimedOut), "each call that lapsed timed out: %+v", told)
	}, specLimit)

	It("lets a pod end with nothing left undone", func(ctx context.Context) {
		before := ready(ctx, r.namespace, "shop", replicas)
		r.setLatency(ctx, "hang")
		r.send(ctx, rate/5)
		Eventually(r.payments).WithContext(ctx).Should(HaveField("InFlight", BeNumerically(">", limit)), "calls hang in both pods")
		step(ctx, "delete a pod", func(ctx context.Context) {
			start := r.seen(ctx)
			kubectl(ctx, "-n", r.namespace, "delete", "pod", "--wait=false", before[0].Name)
			ended := r.endings.of(ctx, before[:1])
			r.expectCleanEnds(ctx, "payments hangs, a pod deleted", start, ended)
			Expect(ended[0].farewell().Services["payments"].Finished).NotTo(BeZero(), "no call hung when the lame duck time was over")
		})
		r.balance(ctx)
	}, specLimit)
})

var _ = Describe("While payments hangs, a bulkhead that lets calls run", Ordered, Label("load", "hang"), func() {
	const (
		replicas, limit = 2, 5
		reclaimAfter    = "2s"
		drainTimeout    = 5 * time.Second
		grace           = 30 * time.Second
	)
	var r *rig

	BeforeAll(func(ctx context.Context) {
		r = newRig(ctx, "release", replicas, func(b *v1alpha1.ServiceBulkhead, d *appsv1.Deployment) {
			b.Spec.Limit, b.Spec.ReclaimAfter, b.Spec.OnReclaim = new(int32(limit)), reclaimAfter, v1alpha1.OnReclaimRelease
			pod := &d.Spec.Template.Spec
			pod.TerminationGracePeriodSeconds = new(int64(grace / time.Second))
			pod.Containers[0].Args = append(pod.Containers[0].Args, "-drain-timeout="+drainTimeout.String()) // the last one counts
		})
	}, specLimit)

	It("counts their late releases, and answers them", func(ctx context.Context) {
		r.setLatency(ctx, "4s") // from 2 s to 6 s
		step(ctx, "payments is slow", func(ctx context.Context) {
			r.send(ctx, rate/10)
			Eventually(r.look).WithContext(ctx).Should(HaveField("OK", BeNumerically(">", replicas*limit)))
		})
		seen, told := r.balance(ctx)
		note("payments hangs", "onReclaim: Release", "%d requests: %d served, %d of them after their slot had lapsed, %d shed, %d failed",
			seen.Sent, seen.OK, lateIn(told), seen.Shed, seen.Failed-r.tooEarly)
		Expect(lapsedIn(told)).NotTo(BeZero())
		Expect(lateIn(told)).To(Equal(lapsedIn(told)), "each call that lapsed came back late: %+v", told)
		Expect(r.payments(ctx).Peak).To(BeNumerically(">", replicas*limit), "calls that lapsed run beside those that took their slots")
		Expect(seen.TimedOut).To(BeZero())
	}, specLimit)

	It("does not keep the pod beyond its drain time-out, and has it name the calls that remain", func(ctx context.Context) {
		before, start := ready(ctx, r.namespace, "shop", replicas), r.seen(ctx)
		r.setLatency(ctx, "hang")
		r.send(ctx, rate/10)
		// Until some calls have lapsed and others have taken their slots.
		Eventually(r.look).WithContext(ctx).Should(HaveField("InFlight", BeNumerically(">=", 3*replicas*limit/2)))
		r.send(ctx, 0) // without pods, the Service would refuse the others
		logs := follow(ctx, before[0])

		var ended []ending
		step(ctx, "no pods any more", func(ctx context.Context) {
			kubectl(ctx, "-n", r.namespace, "scale", "deployment/shop", "--replicas=0")
			ended = r.endings.of(ctx, before)
		})
		remain, drain, used := 0, 0.0, time.Duration(0)
		for _, one := range ended {
			last := one.farewell()
			Expect(last.Services["payments"].Remaining).NotTo(BeZero(), "pod %s", one.pod)
			Expect(last.Drain.TotalSeconds).To(BeNumerically("<", 3+drainTimeout.Seconds()+1))
			Expect(one.used()).To(BeNumerically("<", grace))
			Expect(one.state.ExitCode).NotTo(BeEquivalentTo(137), "pod %s was killed", one.pod)
			remain += last.Services["payments"].Remaining
			drain, used = max(drain, last.Drain.TotalSeconds), max(used, one.used())
		}
		seen := r.settle(ctx)
		note("payments hangs", "pods end", "%d calls remain; the longest drain took %.2f s, %v of %v of grace", remain, drain, used, grace)
		Expect(seen.Failed-start.Failed).To(Equal(remain), failures(seen))
		Expect(read(logs)).To(MatchRegexp(`payments: running for \d+\.\d+s, its slot was reclaimed`))
	}, specLimit)
})

// lapsedIn is how many calls held their slot for the whole reclaim window.
func lapsedIn(told map[string]words.Counts) uint64 {
	return sum(told, func(c words.Counts) uint64 { return c.Lapsed })
}

// lateIn is how many calls came back after that.
func lateIn(told map[string]words.Counts) uint64 {
	return sum(told, func(c words.Counts) uint64 { return c.LateReleases })
}

// follow reads what a pod writes, to its end: afterwards the log is gone.
func follow(ctx context.Context, pod *corev1.Pod) io.Reader {
	GinkgoHelper()
	stream, err := cluster.set.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Follow: true}).Stream(ctx)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(stream.Close)
	return stream
}

func read(stream io.Reader) string {
	GinkgoHelper()
	text, err := io.ReadAll(stream)
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}
