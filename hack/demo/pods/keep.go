// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// left is how many requests a second go on.
const left = "100"

// leave lets a lighter load go on, and tells how to play with what runs.
func (s *stage) leave(ctx context.Context) error {
	if err := s.setRate(ctx, left); err != nil {
		return err
	}
	inside := os.Getenv("SERVICEBULKHEAD_NODE") != ""
	show := func(command string) string { return "    " + spelled(command, inside) }
	proxy := "kubectl get --raw '/api/v1/namespaces/shop/pods/%s:%s/proxy/%s'"
	s.Line(fmt.Sprintf("\nEverything still runs, with %s requests a second. To look, and to play with it:\n", left))
	s.Line(show("kubectl -n shop get sbh,pods"))
	s.Line(show(`kubectl -n shop patch sbh payments --type=merge -p '{"spec":{"limit":5}}'`))
	s.Line(show("kubectl -n shop rollout restart deployment/shop"))
	s.Line("\nWhat payments saw, how to make it slow, what the load saw, and how to have more of it:\n")
	s.Line(show(fmt.Sprintf(proxy, s.payments, paymentsPort, "stats")))
	s.Line(show(fmt.Sprintf(proxy, s.payments, paymentsPort, "latency?d=250ms")))
	s.Line(show(fmt.Sprintf(proxy, s.load, loadPort, "report")))
	s.Line(show(fmt.Sprintf(proxy, s.load, loadPort, "rate?rps="+rate)))
	s.Line("\nThe next make demo-pods removes it" + orDown(inside) + ".")
	return nil
}

func orDown(inside bool) string {
	if inside {
		return ", and so does make node-down, with the node"
	}
	return ""
}

// spelled is a command as one types it outside of the node, or where there is none.
func spelled(command string, inside bool) string {
	if !inside {
		return command
	}
	return `make node-run CMD="` + strings.ReplaceAll(command, `"`, `\"`) + `"`
}
