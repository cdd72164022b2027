// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Signalcontext is an application that has a shutdown of its own, built on
// signal.NotifyContext. The agent's drain is a call in it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

var (
	listen       = flag.String("listen", "127.0.0.1:8080", "the `address` to serve on; port 0 takes a free one")
	bulkheads    = flag.String("bulkheads", "/etc/servicebulkhead", "the `directory` where the ConfigMap is mounted")
	upstream     = flag.String("upstream", "http://127.0.0.1:8082/charge", "the `URL` that each request calls")
	lameDuck     = flag.Duration("lame-duck", 3*time.Second, "for how long to keep serving after SIGTERM, not ready")
	drainTimeout = flag.Duration("drain-timeout", 20*time.Second, "how long requests and calls may take to finish after that")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "signalcontext:", err)
		os.Exit(1)
	}
}

// run serves until SIGTERM, then drains and prints what that did.
func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	a, err := agent.New(*bulkheads, agent.WithLameDuck(*lameDuck), agent.WithDrainTimeout(*drainTimeout))
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/buy", buy(a.Bulkhead("upstream")))
	mux.Handle("/readyz", a.ReadyHandler()) // for the readiness probe
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	a.OnStop("http server", server.Shutdown)

	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	fmt.Printf("listening on %s\n", listener.Addr())
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
		return drain(a)
	}
}

// drain gets a context of its own: the one that has just ended would leave it no
// time. A second signal ends it, which cuts the drain short, but in order.
func drain(a *agent.Agent) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	report, err := a.Shutdown(ctx)
	fmt.Print(report)
	if n := report.Remaining(); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d calls had not ended", n))
	}
	return err
}

// buy makes a call through the bulkhead for each request.
func buy(payments *limiter.Bulkhead) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := payments.Do(r.Context(), charge)
		switch {
		case err == nil:
			_, _ = fmt.Fprintln(w, "sold")
		case errors.Is(err, limiter.ErrSaturated), errors.Is(err, limiter.ErrDraining):
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		default:
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	}
}

// client keeps its connections: how many there are is the bulkhead's to say.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}}

// charge is the slow call. Its context ends when its slot is reclaimed.
func charge(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, *upstream, http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("charge: %s", response.Status)
	}
	return err
}
