// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Payments is the demo's slow service: it answers after a latency that can be
// changed while it runs, and tells how many calls it had at once.
//
//	/charge          answers after the latency, on average, or never while it hangs
//	/latency?d=80ms  sets the latency; ?d=hang makes it hang
//	/stats           what it saw, as JSON
//	/reset           forgets the peak
//
// It protects itself from nothing: that is the point.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "the `address` to serve on; port 0 takes a free one")
	latency := flag.Duration("latency", 20*time.Millisecond, "how long a call takes on average, at first")
	flag.Parse()
	if err := run(*listen, &service{latency: *latency}); err != nil {
		fmt.Fprintln(os.Stderr, "payments:", err)
		os.Exit(1)
	}
}

// run serves until the process is told to end.
func run(address string, s *service) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	server := &http.Server{Handler: s.routes(), ReadHeaderTimeout: 5 * time.Second}
	return server.Serve(listener)
}
