// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Shop is an example application: it sells things, and calls a payment service
// for each sale through the bulkhead "payments". Read it to see what the agent
// asks of an application.
//
//	shop -listen :8080 -bulkheads /etc/servicebulkhead -payments http://payments.example
//
//	/buy               sells, with any method: the requests have the bulkhead "requests"
//	/debug/bulkheads   shows what the bulkheads do
//	/metrics           the same as metrics
//	/readyz, /livez    for the probes
//
// It needs no cluster: without a document in the directory, calls are not limited.
// In a pod, each answer has the pod's name from the environment variable POD_NAME in
// its header X-Pod, and -report /dev/termination-log leaves what the drain did in
// the pod's status.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
)

type options struct {
	listen, bulkheads, payments, report string
	lameDuck, drainTimeout              time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.listen, "listen", "127.0.0.1:0", "the `address` to serve on; port 0 takes a free one")
	flag.StringVar(&o.bulkheads, "bulkheads", "/etc/servicebulkhead", "the `directory` where the ConfigMap is mounted")
	flag.StringVar(&o.payments, "payments", "http://127.0.0.1:8082", "the `URL` of the payment service")
	flag.DurationVar(&o.lameDuck, "lame-duck", 3*time.Second, "how long to keep serving after SIGTERM, not ready, as a `duration`")
	flag.DurationVar(&o.drainTimeout, "drain-timeout", 20*time.Second, "how long requests and calls may take to finish after that, as a `duration`")
	flag.StringVar(&o.report, "report", "", "the `file` to write to, at the end, what the drain did, as JSON")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// run serves until SIGTERM, then drains and prints what that did.
func run(o options) error {
	a, err := agent.New(o.bulkheads, agent.WithLameDuck(o.lameDuck), agent.WithDrainTimeout(o.drainTimeout))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	s := newShop(a, o.payments, os.Getenv("POD_NAME"))
	server := &http.Server{Handler: s.routes(), ReadHeaderTimeout: 5 * time.Second}
	a.OnStop("http server", server.Shutdown)
	if err := a.CloseOnShutdown("connections to payments", s); err != nil {
		return err
	}

	ctx, stop := context.WithCancelCause(context.Background())
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			stop(err)
		}
	}()
	fmt.Printf("listening on http://%s\n", listener.Addr())
	drained, err := a.ShutdownOnSignal(ctx)
	fmt.Print(drained)
	if _, begun := a.Draining(); begun && o.report != "" {
		err = errors.Join(err, newReport(drained, a.Services()).writeTo(o.report))
	}
	return err
}
