// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/load"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
)

// sample is everything there is to see at one moment.
type sample struct {
	pods     []podSample
	payments words.Payments
	load     words.Load
}

// podSample is the bulkhead of one pod.
type podSample struct {
	at       time.Time
	name     string
	revision string
	words.Bulkhead
}

// sample asks everybody.
func (s *stage) sample(ctx context.Context, pods []string) (now sample, err error) {
	for _, name := range pods {
		agent, err := s.agent(ctx, name)
		if err != nil {
			return now, err
		}
		now.pods = append(now.pods, podSample{time.Now(), name, agent.Source.Revision, agent.Bulkhead(story.Bulkhead)})
	}
	if now.payments, err = s.stats(ctx); err != nil {
		return now, err
	}
	now.load, err = s.report(ctx)
	return now, err
}

// seen is what was seen over a while.
type seen struct {
	first, last  sample
	mostInFlight int // in one pod
}

func (s *seen) add(now sample) {
	s.last = now
	for _, pod := range now.pods {
		s.mostInFlight = max(s.mostInFlight, pod.InFlight)
	}
}

// peak is how many calls payments had at most at once.
func (s *seen) peak() int { return s.last.payments.Peak }

// load is what became of the requests meanwhile.
func (s *seen) load() load.Counts { return s.last.load.Minus(s.first.load.Counts) }

// watch shows for some seconds, live, what happens: a line for each pod.
func (s *stage) watch(ctx context.Context, seconds int) (*seen, error) {
	pods, err := s.names(ctx, shopApp)
	if err != nil {
		return nil, err
	}
	if err := s.resetPeak(ctx); err != nil {
		return nil, err
	}
	before, err := s.sample(ctx, pods)
	if err != nil {
		return nil, err
	}
	all := &seen{first: before, last: before}
	s.Line(s.Style(story.Faint, lineHeader))
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for range seconds {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		now, err := s.sample(ctx, pods)
		if err != nil {
			return nil, err
		}
		for i := range now.pods {
			s.Line(s.podLine(all.first.pods[i].at, all.last.pods[i], now.pods[i]))
		}
		all.add(now)
	}
	return all, nil
}

const (
	lineHeader = "   time  pod    " + story.BarLegend + "          waiting  admitted/s  shed/s  revision"
	lineFormat = "  %4.1fs  %-5s  %s  %2d of %-2d  %8d  %10.0f  %6.0f  %s"
)

// podLine is one line of the live view: what is now in one pod, and what happened
// there since the line before.
func (s *stage) podLine(begin time.Time, before, now podSample) string {
	limit, seconds := now.LimitInForce(), now.at.Sub(before.at).Seconds()
	return fmt.Sprintf(lineFormat, now.at.Sub(begin).Seconds(), suffix(now.name), s.Bar(limit, now.InFlight, now.Waiting),
		now.InFlight, limit, now.Waiting,
		float64(now.Counts.Admitted-before.Counts.Admitted)/seconds, float64(now.Counts.Saturated-before.Counts.Saturated)/seconds, now.revision)
}

// suffix is what tells a pod from the others of its Deployment.
func suffix(name string) string { return name[strings.LastIndex(name, "-")+1:] }
