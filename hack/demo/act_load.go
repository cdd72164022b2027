// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/load"
)

const (
	clients = 60
	think   = 100 * time.Millisecond

	quick     = "10ms"
	slow      = "250ms"
	leisurely = "1.2s"

	lameDuck = 2 * time.Second
)

// quickService starts the payment service, the shop and the clients, and shows
// that the bulkhead is not in the way.
func quickService(ctx context.Context, s *stage) error {
	if err := s.startShop(ctx); err != nil {
		return err
	}
	s.load = load.New(string(s.shopURL)+"/buy", clients, think)
	s.load.Start()
	s.Say("%d clients buy, think for %s, and buy again; payments takes %s on average.", clients, think, quick)
	seen, err := s.watch(ctx, 3*time.Second)
	if err != nil {
		return err
	}
	s.ExpectAtLeast("quick: sales", seen.answers.OK, 100)
	s.Expect(seen.answers.Shed <= seen.answers.Answered()/20, "quick: calls shed", "at most 5 %", seen.answers.Shed)
	s.ExpectEqual("quick: calls that failed", seen.answers.Failed, 0)
	return nil
}

// startShop starts the payment service and the shop.
func (s *stage) startShop(ctx context.Context) error {
	s.Command("payments")
	payments, err := s.start("payments", s.binary("payments"), "-latency", quick)
	if err != nil {
		return err
	}
	paymentsURL, err := payments.Await(ctx, "listening on ")
	if err != nil {
		return err
	}
	s.payments = paymentService(paymentsURL)
	s.Command("shop -bulkheads etc-servicebulkhead -payments " + paymentsURL)
	s.shop, err = s.start("shop", s.binary("shop"), "-bulkheads", s.mount, "-payments", paymentsURL, "-lame-duck", lameDuck.String())
	if err != nil {
		return err
	}
	shopURL, err := s.shop.Await(ctx, "listening on ")
	s.shopURL = shopService(shopURL)
	return err
}

// slowService shows what the bulkhead does when it is needed.
func slowService(ctx context.Context, s *stage) error {
	if err := s.payments.setLatency(ctx, slow); err != nil {
		return err
	}
	s.Say("payments takes %s now. Without a bulkhead, most of the %d clients would be waiting inside payments.", slow, clients)
	seen, err := s.watch(ctx, 5*time.Second)
	if err != nil {
		return err
	}
	s.ExpectAtMost("slow: most calls that payments had at once", seen.peak, seen.last.limit)
	s.ExpectEqual("slow: most slots held at once", seen.mostInFlight, seen.last.limit)
	s.ExpectAtLeast("slow: calls that waited for a slot", seen.waits(), 1)
	s.ExpectAtLeast("slow: calls shed", seen.shed(), 1)
	s.ExpectAtLeast("slow: sales", seen.answers.OK, 1)
	s.ExpectEqual("slow: calls that failed", seen.answers.Failed, 0)
	return nil
}
