// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Payments is the demo's slow service: it answers after a latency that can be
// changed while it runs, and tells how many calls it had at once.
//
//	/charge          answers after the latency, on average, or never while it hangs
//	/latency?d=80ms  sets the latency; ?d=hang makes it hang
//	/stats           what it saw, as JSON
//	/reset           forgets the peak
//	/readyz          for the probe
//
// It protects itself from nothing: that is the point. On SIGTERM it ends after a
// moment, whatever is under way.
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
)

// endGrace is how long calls under way may take to end.
const endGrace = time.Second

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "the `address` to serve on; port 0 takes a free one")
	latency := flag.Duration("latency", 20*time.Millisecond, "how long a call takes on average, at first")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, *listen, &service{latency: *latency}, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "payments:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, address string, s *service, out io.Writer) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening on http://%s\n", listener.Addr())
	server := &http.Server{Handler: s.routes(), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), endGrace)
	defer cancel()
	err = server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close() // they hang, as they were told to
	}
	return err
}
