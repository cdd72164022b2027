// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/servicebulkhead/servicebulkhead/hack/demo/story"

// acts is the whole demo, in order. What is kept to play with is not drained.
func acts(keep bool) []story.Act[*stage] {
	all := []story.Act[*stage]{
		{Title: "A control plane", Text: `A real etcd, API server and controller manager, on loopback: what follows is judged by
			Kubernetes itself.`, Play: startPlane},
		{Title: "The operator", Text: `It turns ServiceBulkheads into one ConfigMap. It runs as a process, with the rights of its own
			ServiceAccount and no others.`, Play: startOperator},
		{Title: "Two bulkheads", Text: `A bulkhead is declared like everything else in Kubernetes. At most 25 calls to payments may be
			in flight in each process; a limit for search is only tried out (Shadow).`, Play: declareBulkheads},
		{Title: "The files in the pod", Text: `Pods get the ConfigMap as a volume. There is no kubelet here (make demo-pods has one), so the kubelet's own code
			(AtomicWriter) keeps a directory as it would keep the volume.`, Play: projectFiles},
		{Title: "An application under load", Text: `A shop imports the agent and calls payments for each sale, through the bulkhead.
			While payments is quick, nobody notices that there is a limit.`, Play: quickService},
		{Title: "The service becomes slow", Text: `This is what a bulkhead is for: every call still succeeds, so no circuit breaker
			opens, but calls pile up. At the limit a call waits for up to maxWait (50ms) and is then shed: the shop
			answers 503, instead of holding a connection with everybody else.`, Play: slowService},
		{Title: "Change the limit", Text: `A change reaches the running process without a restart, and leaves calls in flight alone. On
			a cluster it also waits for the kubelet, which looks every 60 to 90s, or at once when nudged (make demo-pods).`, Play: changeLimit},
		{Title: "A change that is refused", Text: `Nobody can switch the protection off by mistake: the API server itself checks every
			change, and says what is wrong with it.`, Play: refuseChange},
		{Title: "The service hangs", Text: `It answers nothing any more. Each call holds its slot until reclaimAfter has passed; then
			the call is cancelled and the slot is free again, so that the shop recovers when payments does.`, Play: hangService},
		{Title: "The operator crashes", Text: `It is killed with SIGKILL and started again. The shop does not notice, and a change made
			meanwhile is not lost.`, Play: crashOperator},
		{Title: "SIGTERM", Text: `The pod is told to end. The shop reports not ready but goes on serving while requests may still arrive
			(lame duck); then it finishes what runs, closes what it opened, and says what it did.`, Play: drainShop},
	}
	if keep {
		return all[:len(all)-1]
	}
	return all
}
