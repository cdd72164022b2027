// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

var _ = Describe("More load than payments can take", Ordered, Label("load"), func() {
	const replicas, limit = 4, 5
	var r *rig

	BeforeAll(func(ctx context.Context) {
		r = newRig(ctx, "limit", replicas, func(b *v1alpha1.ServiceBulkhead, _ *appsv1.Deployment) {
			b.Spec.Limit = new(int32(limit))
		})
	}, specLimit)

	It("reaches payments as far as the limits of all pods allow, and is shed beyond", func(ctx context.Context) {
		r.setLatency(ctx, "200ms") // 20 calls at once: a fifth of the load
		step(ctx, "overload", func(ctx context.Context) {
			r.send(ctx, rate)
			Eventually(r.look).WithContext(ctx).Should(And(HaveField("Shed", BeNumerically(">", 2*rate)), HaveField("OK", BeNumerically(">", rate/5))))
			// More than one pod may, or two. All at once is a matter of luck: whoever sheds is
			// quick, and is asked again at once by those who keep their connections.
			Eventually(r.payments).WithContext(ctx).Should(HaveField("Peak", BeNumerically(">", 2*limit)))
		})
		seen, _ := r.balance(ctx)
		peak := r.payments(ctx).Peak
		note("under load", "overload", "%d requests: %d served, %d shed, %d failed; payments had %d calls at once, allowed are %d×%d",
			seen.Sent, seen.OK, seen.Shed, seen.Failed-r.tooEarly, peak, replicas, limit)
		Expect(peak).To(BeNumerically("<=", replicas*limit))
	}, specLimit)

	It("is shed in a rolling restart as well, and nothing fails", func(ctx context.Context) {
		before := ready(ctx, r.namespace, "shop", replicas)
		step(ctx, "rolling restart", func(ctx context.Context) {
			r.send(ctx, rate)
			start := r.seen(ctx)
			kubectl(ctx, "-n", r.namespace, "rollout", "restart", "deployment/shop")
			ended := r.endings.of(ctx, before)
			ready(ctx, r.namespace, "shop", replicas)
			r.expectCleanEnds(ctx, "overload, rolling restart", start, ended)
		})
		r.balance(ctx)
	}, specLimit)
})
