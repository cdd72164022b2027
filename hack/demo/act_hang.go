// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"
)

// hangService lets the payment service hang and recover. The samples' reclaimAfter
// is made for real calls: too long to wait for here.
func hangService(ctx context.Context, s *stage) error {
	err := s.patchBulkhead(ctx, `{"limit":25,"reclaimAfter":"2s"}`, func(b bulkhead) bool { return b.limit == 25 })
	if err != nil {
		return err
	}
	if err := s.payments.setLatency(ctx, "hang"); err != nil {
		return err
	}
	s.Say("payments hangs now. Calls hold their slots, and the shop sheds the rest at once.")
	hung, err := s.watchUntil(ctx, 8*time.Second, func(so *seen) bool { return so.lapses() >= 25 })
	if err != nil {
		return err
	}
	if err := s.payments.setLatency(ctx, quick); err != nil {
		return err
	}
	s.Say("payments answers again. The calls that were admitted meanwhile still hang, each until its slot is reclaimed.")
	recovered, err := s.watch(ctx, 3500*time.Millisecond)
	if err != nil {
		return err
	}
	s.ExpectAtLeast("hung: slots reclaimed", hung.lapses(), 25)
	s.ExpectAtMost("hung: most slots held at once", hung.mostInFlight, 25)
	s.ExpectAtLeast("hung: calls shed meanwhile", hung.shed(), 1)
	all := &seen{first: hung.first, last: recovered.last}
	s.ExpectEqual("calls that ended after their slot was reclaimed", all.late(), all.lapses())
	s.ExpectAtLeast("recovered: sales", recovered.answers.OK, 1)
	return s.balance(ctx)
}

// balance stops the clients and compares the two ends' books: what the clients
// were answered, and what the bulkhead says it answered.
func (s *stage) balance(ctx context.Context) error {
	s.load.Stop()
	defer s.load.Start()
	b, err := s.shopURL.bulkhead(ctx)
	if err != nil {
		return err
	}
	s.Say("%d calls asked: %d admitted + %d shed + %d refused + %d cancelled.", b.asked(), b.admitted, b.shed, b.refused, b.cancelled)
	s.ExpectEqual("calls that got an answer from the bulkhead", b.asked(), s.load.Total().Answered())
	s.ExpectEqual("calls still in flight at rest", b.inFlight, 0)
	return nil
}
