// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"
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
	s.expectAtMost("limit 10: most calls that payments had at once", lower.peak, 10)
	higher, err := s.changeLimitTo(ctx, 40)
	if err != nil {
		return err
	}
	s.expectAtMost("limit 40: most calls that payments had at once", higher.peak, 40)
	s.expect(higher.peak > before.limit, "limit 40: that is more than before", fmt.Sprintf("more than %d", before.limit), higher.peak)
	s.expectEqual("changes: calls that failed", lower.answers.Failed+higher.answers.Failed, 0)
	return nil
}

// changeLimitTo changes the limit and watches what the service sees of it.
func (s *stage) changeLimitTo(ctx context.Context, limit int) (*seen, error) {
	err := s.patchBulkhead(ctx, fmt.Sprintf(`{"limit":%d}`, limit), func(b bulkhead) bool { return b.limit == limit })
	if err != nil {
		return nil, err
	}
	err = await(ctx, 5*time.Second, "the end of the calls above the limit", func(ctx context.Context) (bool, error) {
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

// refuseChange tries a wait that amounts to an unbounded one.
func refuseChange(ctx context.Context, s *stage) error {
	before, err := s.generation(ctx)
	if err != nil {
		return err
	}
	message, err := s.refused(ctx, patchArgs(`{"maxWait":"1h"}`)...)
	if err != nil {
		return err
	}
	now, err := s.generation(ctx)
	if err != nil {
		return err
	}
	s.expect(message != "", "maxWait of an hour", "refused", verdict(message))
	s.expectEqual("the message names the field", strings.Contains(message, "spec.maxWait"), true)
	s.expectEqual("the message names the rule", strings.Contains(message, "must be at most 60s"), true)
	s.expectEqual("generation of the object, which counts its changes", now, before)
	return nil
}

func verdict(message string) string {
	if message == "" {
		return "accepted"
	}
	return "refused"
}

// generation changes whenever the spec does.
func (s *stage) generation(ctx context.Context) (string, error) {
	return s.runKubectl(ctx, s.plane.KubeconfigFile, "-n", namespace, "get", "sbh", "payments", "-o", "jsonpath={.metadata.generation}")
}
