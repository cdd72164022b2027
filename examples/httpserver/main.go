// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Httpserver is an application that leaves the signal to the agent. Requests,
// hijacked connections and the calls that requests make each have a bulkhead.
//
//	/buy              calls the upstream
//	/echo             takes its connection over, as WebSockets do
//	/debug/bulkheads  shows what the bulkheads do
//	/readyz, /livez   for the probes
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
		fmt.Fprintln(os.Stderr, "httpserver:", err)
		os.Exit(1)
	}
}

// run serves until SIGTERM, then drains and prints what that did.
func run() error {
	a, err := agent.New(*bulkheads, agent.WithLameDuck(*lameDuck), agent.WithDrainTimeout(*drainTimeout))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	// How many connections there are is the bulkhead's to say: keep those it allows.
	client := &http.Client{Transport: a.Transport("upstream", &http.Transport{MaxIdleConnsPerHost: 1024})}
	server := &http.Server{Handler: routes(a, client), ReadHeaderTimeout: 5 * time.Second}
	a.OnStop("http server", server.Shutdown)
	if err := a.CloseOnShutdown("connections to the upstream", idle{client}); err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(context.Background())
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fail(err)
		}
	}()
	fmt.Printf("listening on %s\n", listener.Addr())
	report, err := a.ShutdownOnSignal(ctx)
	fmt.Print(report)
	if n := report.Remaining(); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d calls had not ended", n))
	}
	return err
}

func routes(a *agent.Agent, client *http.Client) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/buy", a.Middleware("requests", buy(client)))
	mux.Handle("/echo", a.Middleware("connections", http.HandlerFunc(echo)))
	mux.Handle("/debug/bulkheads", a.DebugHandler())
	mux.Handle("/readyz", a.ReadyHandler())
	mux.Handle("/livez", a.LiveHandler())
	return mux
}

// buy passes the upstream's answer on.
func buy(client *http.Client) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, *upstream, http.NoBody)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		response, err := client.Do(request)
		switch {
		case errors.Is(err, limiter.ErrSaturated), errors.Is(err, limiter.ErrDraining):
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadGateway)
		default:
			defer response.Body.Close()
			w.WriteHeader(response.StatusCode)
			_, _ = io.Copy(w, response.Body)
		}
	}
}

// echo sends back what it receives, until the client closes the connection.
// http.Server.Shutdown forgets such connections; the bulkhead does not.
func echo(w http.ResponseWriter, _ *http.Request) {
	conn, received, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusHTTPVersionNotSupported)
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	_, _ = io.Copy(conn, received)
}

// idle closes a client's connections.
type idle struct{ client *http.Client }

func (i idle) Close() error {
	i.client.CloseIdleConnections()
	return nil
}
