// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
)

func changeLimit(ctx context.Context, s *stage) error {
	before, err := s.shopURL.bulkhead(ctx)
	if err != nil {
		return err
	}
	lower, err := s.changeLimitTo(ctx, 10)
	if err != nil {
		return err
	}
	s.ExpectAtMost("limit 10: most calls that payments had at once", lower.peak, 10)
	higher, err := s.changeLimitTo(ctx, 40)
	if err != nil {
		return err
	}
	s.ExpectAtMost("limit 40: most calls that payments had at once", higher.peak, 40)
	s.Expect(higher.peak > before.limit, "limit 40: that is more than before", fmt.Sprintf("more than %d", before.limit), higher.peak)
	s.ExpectEqual("changes: calls that failed", lower.answers.Failed+higher.answers.Failed, 0)
	return nil
}

// changeLimitTo changes the limit and watches what the service sees of it.
func (s *stage) changeLimitTo(ctx context.Context, limit int) (*seen, error) {
	err := s.patchBulkhead(ctx, fmt.Sprintf(`{"limit":%d}`, limit), func(b bulkhead) bool { return b.limit == limit })
	if err != nil {
		return nil, err
	}
	err = story.Await(ctx, 5*time.Second, "the end of the calls above the limit", func(ctx context.Context) (bool, error) {
		stats, err := s.payments.stats(ctx)
		return stats.InFlight <= limit, err
	})
	if err != nil {
		return nil, err
	}
	if err := s.payments.resetPeak(ctx); err != nil {
		return nil, err
	}
	return s.watch(ctx, 2500*time.Millisecond)
}

func refuseChange(ctx context.Context, s *stage) error { return story.RefuseChange(ctx, s.kubectl) }
