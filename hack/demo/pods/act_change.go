// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/servicebulkhead/servicebulkhead/controllers/nudge"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
)

// higher is the limit in the end.
const higher = 40

func changeLimit(ctx context.Context, s *stage) error {
	for _, to := range []int{10, higher} {
		seen, err := s.changeLimitTo(ctx, to)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("limit %d: ", to)
		s.ExpectAtMost(what+"most calls that payments had at once", seen.peak(), replicas*to)
		if to == higher {
			s.Expect(seen.peak() > replicas*limit, what+"that is more than before", fmt.Sprintf("more than %d", replicas*limit), seen.peak())
		}
		s.ExpectEqual(what+"calls that failed", seen.load().Failed, 0)
	}
	return nil
}

// changeLimitTo changes the limit, tells and checks how long that took in each pod,
// and watches what payments sees of it.
func (s *stage) changeLimitTo(ctx context.Context, to int) (*seen, error) {
	pods, err := s.names(ctx, shopApp)
	if err != nil {
		return nil, err
	}
	// The change may arrive before kubectl has returned: look from the start.
	var inForce []time.Time
	var arrivalErr error
	var looking sync.WaitGroup
	begin := time.Now()
	looking.Go(func() { inForce, arrivalErr = s.arrivals(ctx, pods, to) })
	err = s.kubectl.Show(ctx, story.PatchArgs(fmt.Sprintf(`{"limit":%d}`, to))...)
	returned := time.Now()
	looking.Wait()
	if err := errors.Join(err, arrivalErr); err != nil {
		return nil, err
	}
	for i, pod := range pods {
		s.ExpectInForce(fmt.Sprintf("limit %d in force in %s", to, pod), returned, inForce[i])
	}
	since := func(moment time.Time) time.Duration { return moment.Sub(begin).Round(time.Millisecond) }
	s.Say("kubectl returned after %s, and every pod had the change after %s. Without the nudge: when the kubelet looks, up to 90s later.",
		since(returned), since(latest(inForce)))
	// Calls above the limit that were in flight go on.
	err = story.Await(ctx, 5*time.Second, "the end of the calls above the limit", func(ctx context.Context) (bool, error) {
		stats, err := s.stats(ctx)
		return stats.InFlight <= replicas*to, err
	})
	if err != nil {
		return nil, err
	}
	return s.watch(ctx, 3)
}

// arrivals returns when each of the pods had the limit in force.
func (s *stage) arrivals(ctx context.Context, pods []string, limit int) ([]time.Time, error) {
	moments, errs := make([]time.Time, len(pods)), make([]error, len(pods))
	var all sync.WaitGroup
	for i, pod := range pods {
		all.Go(func() {
			what := fmt.Sprintf("limit %d in pod %s", limit, pod)
			// Longer than what is allowed after kubectl has returned: it runs meanwhile.
			errs[i] = story.Await(ctx, 2*story.ArrivalTimeout, what, func(ctx context.Context) (bool, error) {
				agent, err := s.agent(ctx, pod)
				moments[i] = time.Now()
				return agent.Bulkhead(story.Bulkhead).LimitInForce() == limit, err
			})
		})
	}
	all.Wait()
	return moments, errors.Join(errs...)
}

func latest(moments []time.Time) (last time.Time) {
	for _, moment := range moments {
		if moment.After(last) {
			last = moment
		}
	}
	return last
}

// showNudged compares what pods were told with what they have in force.
func showNudged(ctx context.Context, s *stage) error {
	annotation := nudge.AnnotationPrefix + story.ConfigMap
	column := "REVISION:.metadata.annotations." + strings.ReplaceAll(annotation, ".", `\.`)
	if err := s.kubectl.Show(ctx, "-n", story.Namespace, "get", "pods", "-o", "custom-columns=POD:.metadata.name,"+column); err != nil {
		return err
	}
	pods, err := s.pods(ctx, shopApp)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		agent, err := s.agent(ctx, pod.Name)
		if err != nil {
			return err
		}
		s.ExpectEqual("revision that "+pod.Name+" was told", pod.Annotations[annotation], agent.Source.Revision)
	}
	told := 0
	for _, app := range []string{paymentsApp, loadApp} {
		others, err := s.pods(ctx, app)
		if err != nil {
			return err
		}
		for _, pod := range others {
			if _, yes := pod.Annotations[annotation]; yes {
				told++
			}
		}
	}
	s.ExpectEqual("other pods that were told anything", told, 0)
	return nil
}
