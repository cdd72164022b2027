// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
)

// acts is the whole demo, in order.
var acts = []story.Act[*stage]{
	{Title: "A node", Text: `Pods run here as they do everywhere: what mounts their files, and what ends them, is
		a kubelet.`, Play: showNode},
	{Title: "The operator", Text: `It turns ServiceBulkheads into one ConfigMap. Two pods, of which one works; no webhook, so
		nothing in the cluster waits for them. This is config/overlays/nudge: the operator may also tell pods that ask for
		it to look at their files at once.`, Play: installOperator},
	{Title: "An application and its bulkhead", Text: `A shop of two pods, the payment service that it calls, and the limit
		in between, declared in the same file and applied in one go. Nothing has to come first: the ConfigMap is optional,
		and a pod that starts before it is told when it is there.`, Play: applyShop},
	{Title: "Load", Text: `Requests come through the Service, whatever becomes of them (an open loop). While payments is
		quick, nobody notices that there is a limit.`, Play: quickService},
	{Title: "The service becomes slow", Text: `Every call still succeeds, so no circuit breaker opens, but calls pile up. At
		the limit of its pod a call waits for up to maxWait (50ms) and is then shed: the shop answers 503, instead of
		holding a connection with everybody else.`, Play: slowService},
	{Title: "Change the limit", Text: `A change reaches the running processes without a restart, and leaves calls in flight
		alone: first a lower limit, then one that is enough for almost all. The operator writes the ConfigMap, and nudges the pods that
		mount it; their kubelet would look by itself every 60 to 90s.`, Play: changeLimit},
	{Title: "Who was nudged", Text: `A nudge is an annotation with the revision that the pod should have, written by way of
		pods/status: it can change no image. Only pods that mount the ConfigMap and have the label get one.`, Play: showNudged},
	{Title: "A change that is refused", Text: `Nobody can switch the protection off by mistake: the API server itself checks
		every change, and says what is wrong with it.`, Play: refuseChange},
	{Title: "A rolling restart under load", Text: `Both pods are replaced, without a preStop hook. Each that is told to end
		reports not ready but goes on serving while requests may still arrive (lame duck); then it finishes what runs, and
		its last words are in the pod's status. No call may fail, and the books must balance.`, Play: restartShop},
}

func refuseChange(ctx context.Context, s *stage) error { return story.RefuseChange(ctx, s.kubectl) }
