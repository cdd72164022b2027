// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
)

// account is how many calls of payments a pod let through and how many it shed.
type account struct{ admitted, shed int }

// told is what the shop's pods say they did, by their names: those that ended in
// their last word, the others when asked.
func (r *rig) told(ctx context.Context) map[string]words.Counts {
	GinkgoHelper()
	all := map[string]words.Counts{}
	for _, one := range r.endings.all() {
		all[one.pod] = one.farewell().Services["payments"].Counts
	}
	pods, err := podsOf(ctx, r.namespace, "shop")
	Expect(err).NotTo(HaveOccurred())
	for _, pod := range pods {
		s, err := stateOf(ctx, pod)
		Expect(err).NotTo(HaveOccurred())
		all[pod.Name] = s.Bulkhead("payments").Counts
	}
	return all
}

// balance ends the load and expects that no request has failed, and that the pods have
// counted just what the generator saw. It returns both.
func (r *rig) balance(ctx context.Context) (seen words.Load, told map[string]words.Counts) {
	GinkgoHelper()
	seen, told = r.settle(ctx), r.told(ctx)
	Expect(seen.Failed-r.tooEarly).To(BeZero(), failures(seen))
	expectAgreement(told, seen)
	return seen, told
}

// expectAgreement compares what the pods say with what the generator saw of each, to
// the call: nothing may be under way. A call that timed out had been admitted.
func expectAgreement(told map[string]words.Counts, seen words.Load) {
	GinkgoHelper()
	said, got := map[string]account{}, map[string]account{}
	for pod, c := range told {
		if a := (account{int(c.Admitted), int(c.Saturated)}); a != (account{}) {
			said[pod] = a
		}
	}
	for pod, o := range seen.ByPod {
		got[pod] = account{o.OK + o.TimedOut, o.Shed}
	}
	Expect(said).To(Equal(got), "what the pods say, and what the generator saw of them")
	Expect(seen.OK + seen.TimedOut + seen.Shed + seen.Failed).To(Equal(seen.Sent))
}

// sum adds up one of the counts of all pods.
func sum(told map[string]words.Counts, of func(words.Counts) uint64) (all uint64) {
	for _, c := range told {
		all += of(c)
	}
	return all
}
