// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
)

// Applications, as appLabel names them.
const (
	shopApp     = "shop"
	paymentsApp = "payments"
	loadApp     = "load"
)

const (
	replicas = 2
	limit    = 25 // of shop.yaml
	rate     = "300"

	slow      = "250ms"
	leisurely = "100ms"
)

func applyShop(ctx context.Context, s *stage) (err error) {
	s.Command("grep ' # ' " + shopFile)
	s.Output(remarked(shopManifest))
	begin := time.Now()
	if err := s.kubectl.Show(ctx, "apply", "-f", shopFile); err != nil {
		return err
	}
	if err := s.available(ctx, shopApp, paymentsApp); err != nil {
		return err
	}
	if s.payments, err = s.onlyPod(ctx, paymentsApp); err != nil {
		return err
	}
	pods, err := s.names(ctx, shopApp)
	if err != nil {
		return err
	}
	if _, err := s.arrivals(ctx, pods, limit); err != nil {
		return err
	}
	s.Say("%s after kubectl began to apply, all of it runs and the limit is in force.", time.Since(begin).Round(100*time.Millisecond))
	if err := s.kubectl.Show(ctx, "-n", story.Namespace, "get", "sbh,pods"); err != nil {
		return err
	}
	s.ExpectEqual(fmt.Sprintf("pods of the shop with limit %d in force", limit), len(pods), replicas)
	return nil
}

// available waits until all pods of applications are ready.
func (s *stage) available(ctx context.Context, apps ...string) error {
	args := []string{"-n", story.Namespace, "wait", "--for=condition=Available", "--timeout=60s"}
	for _, app := range apps {
		args = append(args, "deployment/"+app)
	}
	return s.kubectl.Show(ctx, args...)
}

// quickService starts the load, and shows that the bulkhead is not in the way.
func quickService(ctx context.Context, s *stage) (err error) {
	if err := s.kubectl.Show(ctx, "apply", "-f", loadFile); err != nil {
		return err
	}
	if err := s.available(ctx, loadApp); err != nil {
		return err
	}
	if s.load, err = s.onlyPod(ctx, loadApp); err != nil {
		return err
	}
	if err := s.awaitService(ctx); err != nil {
		return err
	}
	if err := s.setRate(ctx, rate); err != nil {
		return err
	}
	s.Say("%s requests a second; payments takes 10ms on average.", rate)
	seen, err := s.watch(ctx, 3)
	if err != nil {
		return err
	}
	load := seen.load()
	s.ExpectAtLeast("quick: sales", load.OK, 100)
	s.Expect(load.Shed <= load.Answered()/20, "quick: calls shed", "at most 5 %", load.Shed)
	s.ExpectEqual("quick: calls that failed", load.Failed, 0)
	return nil
}

// awaitService sends a little until something is sold: a pod that has just become
// ready gets no requests before its node's proxy knows.
func (s *stage) awaitService(ctx context.Context) error {
	if err := s.setRate(ctx, "10"); err != nil {
		return err
	}
	return story.Await(ctx, 20*time.Second, "a sale through the Service", func(ctx context.Context) (bool, error) {
		r, err := s.report(ctx)
		return r.OK > 0, err
	})
}

// slowService shows what the bulkhead does when it is needed.
func slowService(ctx context.Context, s *stage) error {
	if err := s.setLatency(ctx, slow); err != nil {
		return err
	}
	s.Say("payments takes %s now. Without a bulkhead, %s such calls a second would be 75 in payments at any moment.", slow, rate)
	seen, err := s.watch(ctx, 5)
	if err != nil {
		return err
	}
	load := seen.load()
	s.ExpectAtMost("slow: most calls that payments had at once", seen.peak(), replicas*limit)
	s.ExpectEqual("slow: most slots held at once in one pod", seen.mostInFlight, limit)
	s.ExpectAtLeast("slow: calls shed", load.Shed, 1)
	s.ExpectAtLeast("slow: sales", load.OK, 1)
	s.ExpectEqual("slow: calls that failed", load.Failed, 0)
	return nil
}
