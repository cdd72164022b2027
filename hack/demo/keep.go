// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

// hold leaves everything running and tells how to play with it, until the context
// ends.
func (s *stage) hold(ctx context.Context) {
	s.Line(fmt.Sprintf(`
Everything still runs, %d clients buy; the last act, SIGTERM, is left to you. In another shell:

    export KUBECONFIG=%s
    export PATH=%s:$PATH
    kubectl -n shop get sbh -w
    kubectl -n shop patch sbh payments --type=merge -p '{"spec":{"limit":10}}'
    kubectl -n shop edit sbh payments

Open with curl or a browser:

    %s/latency?d=250ms    makes payments slow; d=20ms quick; d=hang lets it hang
    %s/stats              what payments sees
    %s/metrics            the shop's metrics
    %s/buy                buys something

The files of the volume are in %s,
logs in %s.
kill -TERM %d drains the shop. Ctrl-C here ends everything and removes it (make then says
"Interrupt", which is no error).
`, s.load.Clients(), s.plane.KubeconfigFile, s.plane.Assets, s.payments, s.payments, s.shopURL, s.shopURL,
		s.mount, s.logs(), s.shop.PID()))
	s.follow(ctx)
	s.Line("")
}

// follow keeps one line of a terminal up to date, until the context or the shop
// ends. Elsewhere it is silent: it would fill a file.
func (s *stage) follow(ctx context.Context) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	begin, last := time.Now(), sample{}
	for {
		select {
		case <-ticker.C:
		case <-s.shop.Ended():
			s.Line("\nThe shop has ended (" + s.shop.State() + "). Its report:")
			s.Output(reportIn(s.shop.Stdout()))
			s.Line("The shop is gone; Ctrl-C ends the rest.")
			<-ctx.Done()
			return
		case <-ctx.Done():
			return
		}
		now, err := s.sample(ctx)
		if err == nil && !last.at.IsZero() {
			s.Rewrite(s.sampleLine(begin, last, now))
		}
		last = now
	}
}
