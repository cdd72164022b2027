// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/load"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
)

// drainShop ends the shop while it works, as a kubelet would. The clients stop a
// moment after it reports not ready, as they do when a load balancer has noticed;
// their last calls are still running when the shop stops serving.
func drainShop(ctx context.Context, s *stage) error {
	if err := s.slowerAndFewer(ctx); err != nil {
		return err
	}
	s.Command(fmt.Sprintf("kill -TERM %d   # the shop", s.shop.PID()))
	s.shop.Terminate()
	err := story.Await(ctx, 5*time.Second, "the shop's reporting not ready", func(ctx context.Context) (bool, error) {
		return !s.shopURL.ready(ctx), nil
	})
	if err != nil {
		return err
	}
	before := s.load.Take()
	s.Say("/readyz says 503. Requests still arrive, and are served:")
	serving, err := s.watch(ctx, time.Second)
	if err != nil {
		return err
	}
	s.load.Stop()
	answers := serving.answers.Plus(s.load.Take().Counts)
	if err := s.awaitEnd(ctx); err != nil {
		return err
	}
	s.Say("The shop has ended (%s). Its report:", s.shop.State())
	report := reportIn(s.shop.Stdout())
	s.Output(report)
	s.Say("The producer is the HTTP server: it waited for the requests that were still running.")
	s.ExpectEqual("the shop ended with", s.shop.State(), "exit status 0")
	s.ExpectAtLeast("drain: sales after it had reported not ready", answers.OK, 1)
	s.ExpectEqual("drain: calls that failed", before.Failed+answers.Failed, 0)
	s.Expect(report != "", "drain report", "printed", firstLine(report))
	return nil
}

// slowerAndFewer lets calls take long enough to be seen, with fewer clients than
// slots, so that every one of them should be answered.
func (s *stage) slowerAndFewer(ctx context.Context) error {
	s.load.Stop()
	if err := s.payments.setLatency(ctx, leisurely); err != nil {
		return err
	}
	s.load = load.New(string(s.shopURL)+"/buy", 20, think)
	s.load.Start()
	s.Say("payments takes %s, and there are %d clients: nothing needs to be shed.", leisurely, s.load.Clients())
	_, err := s.watch(ctx, 2*time.Second)
	return err
}

func (s *stage) awaitEnd(ctx context.Context) error {
	select {
	case <-s.shop.Ended():
		return nil
	case <-time.After(15 * time.Second):
		return errors.New("the shop has not ended 15s after SIGTERM")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reportIn finds the drain report in what the shop printed.
func reportIn(stdout string) string {
	_, report, _ := strings.Cut(stdout, "\n")
	return report
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
