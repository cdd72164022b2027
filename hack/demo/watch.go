// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/load"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
)

// watchInterval is how often a line is shown.
const watchInterval = 500 * time.Millisecond

// sample is everything there is to see at one moment: the shop's bulkhead, the
// payment service, and what the clients got since the sample before.
type sample struct {
	at time.Time
	bulkhead
	service words.Payments
	answers load.Window
}

func (s *stage) sample(ctx context.Context) (now sample, err error) {
	if now.bulkhead, err = s.shopURL.bulkhead(ctx); err != nil {
		return now, err
	}
	if now.service, err = s.payments.stats(ctx); err != nil {
		return now, err
	}
	now.at, now.answers = time.Now(), s.load.Take()
	return now, nil
}

// seen is what was seen over a while.
type seen struct {
	first, last  sample
	peak         int         // calls that the payment service had at once
	answers      load.Counts // to the clients
	mostInFlight int
}

func (s *seen) add(now sample) {
	s.last = now
	s.peak = now.service.Peak
	s.answers = s.answers.Plus(now.answers.Counts)
	s.mostInFlight = max(s.mostInFlight, now.inFlight)
}

func (s *seen) waits() int  { return s.last.waits - s.first.waits }
func (s *seen) shed() int   { return s.last.shed - s.first.shed }
func (s *seen) lapses() int { return s.last.lapses - s.first.lapses }
func (s *seen) late() int   { return s.last.lateReleases - s.first.lateReleases }

// watch shows for a while, live, what happens.
func (s *stage) watch(ctx context.Context, d time.Duration) (*seen, error) {
	return s.watchUntil(ctx, d, func(*seen) bool { return false })
}

// watchUntil is watch that may end early.
func (s *stage) watchUntil(ctx context.Context, d time.Duration, enough func(*seen) bool) (*seen, error) {
	before, err := s.sample(ctx)
	if err != nil {
		return nil, err
	}
	all := &seen{first: before, last: before}
	s.Line(s.Style(story.Faint, lineHeader))
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for time.Since(all.first.at) < d && !enough(all) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		now, err := s.sample(ctx)
		if err != nil {
			return nil, err
		}
		s.Line(s.sampleLine(all.first.at, all.last, now))
		all.add(now)
	}
	return all, nil
}

const (
	lineHeader = "   time  " + story.BarLegend + "          waiting  admitted/s  shed/s  payments     p50     p99"
	lineFormat = "  %4.1fs  %s  %2d of %-2d  %8d  %10s  %6s  %8s  %6s  %6s"
)

// sampleLine is one line of the live view: what is now, and what happened since
// the sample before. The quantiles are those of the sales, as the clients saw them.
func (s *stage) sampleLine(begin time.Time, before, now sample) string {
	seconds := now.at.Sub(before.at).Seconds()
	perSecond := func(n int) string { return fmt.Sprintf("%.0f", float64(n)/seconds) }
	line := fmt.Sprintf(lineFormat, now.at.Sub(begin).Seconds(), s.Bar(now.limit, now.inFlight, now.waiting), now.inFlight, now.limit, now.waiting,
		perSecond(now.admitted-before.admitted), perSecond(now.shed-before.shed), now.service.Latency,
		milliseconds(now.answers.Quantile(0.5)), milliseconds(now.answers.Quantile(0.99)))
	if lapses := now.lapses - before.lapses; lapses > 0 {
		line += s.Style(story.Yellow, fmt.Sprintf("  %d slots reclaimed", lapses))
	}
	return line
}

func milliseconds(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return fmt.Sprintf("%dms", d.Milliseconds())
}
