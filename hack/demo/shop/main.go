// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Shop is an example application: it sells things, and calls a payment service
// for each sale through the bulkhead "payments". Read it to see what the agent
// asks of an application.
//
//	shop -bulkheads /etc/servicebulkhead -payments http://payments.example
//
// It needs no cluster: without a document in the directory, calls are not limited.
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
	listen, bulkheads, payments string
	lameDuck                    time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.listen, "listen", "127.0.0.1:0", "the `address` to serve on; port 0 takes a free one")
	flag.StringVar(&o.bulkheads, "bulkheads", "/etc/servicebulkhead", "the `directory` where the ConfigMap is mounted")
	flag.StringVar(&o.payments, "payments", "http://127.0.0.1:8082", "the `URL` of the payment service")
	flag.DurationVar(&o.lameDuck, "lame-duck", 3*time.Second, "how long to keep serving after SIGTERM, not ready, as a `duration`")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// run serves until SIGTERM, then drains and prints what that did.
func run(o options) error {
	a, err := agent.New(o.bulkheads, agent.WithLameDuck(o.lameDuck))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	s := newShop(a, o.payments)
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
	report, err := a.ShutdownOnSignal(ctx)
	fmt.Print(report)
	return err
}
