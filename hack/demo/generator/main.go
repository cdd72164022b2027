// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Generator sends requests to one URL at a rate, however long the answers take, and
// counts what becomes of them.
//
//	generator -url http://shop.example/buy -rate 500 -listen :8083
//
//	/report      what became of the requests so far, as JSON
//	/rate?rps=N  sends N in a second from now on; 0 pauses
//	/reset       forgets what was sent so far, also what is not answered yet
//	/readyz      for the probe
//
// It is an open loop: nothing that the other side does makes it send less, as is
// true of many clients that know nothing of each other. There are as many requests
// under way as the rate and the answers' time make it. POST, the default, is
// never sent twice: net/http repeats a GET whose connection breaks, and nobody
// would see that it failed.
//
// On SIGTERM it sends no more, waits for the answers and prints the report.
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

	"github.com/servicebulkhead/servicebulkhead/hack/demo/load"
)

// idleTimeout is how long a connection is kept that no request uses: a new one is
// made where the Service leads now.
const idleTimeout = time.Second

type options struct {
	url, method, listen, report string
	rate                        float64
	timeout                     time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.url, "url", "http://127.0.0.1:8080/buy", "the `URL` to send requests to")
	flag.StringVar(&o.method, "method", http.MethodPost, "the `method` to send")
	flag.Float64Var(&o.rate, "rate", 500, "how `many` requests to send in a second, at first; 0 is none")
	flag.DurationVar(&o.timeout, "timeout", load.AnswerTimeout, "how long to wait for an answer, as a `duration`")
	flag.StringVar(&o.listen, "listen", "127.0.0.1:0", "the `address` to serve on; port 0 takes a free one")
	flag.StringVar(&o.report, "report", "", "the `file` to write the report to, at the end; shortened to 4096 bytes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "generator:", err)
		os.Exit(1)
	}
}

// run sends until ctx ends, waits for the answers and reports.
func run(ctx context.Context, o options, out io.Writer) error {
	if err := checkRate(o.rate); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	g := newGenerator(newClient(o.timeout), o.method, o.url, o.rate)
	server := &http.Server{Handler: g.routes(), ReadHeaderTimeout: 5 * time.Second}
	defer server.Close() // after the last answer: until then it can be asked
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 1)
	go func() {
		failed <- server.Serve(listener)
		stop()
	}()
	fmt.Fprintf(out, "listening on http://%s\n", listener.Addr())
	g.run(ctx)
	err = g.report().tell(out, o.report)
	select {
	case serveErr := <-failed:
		return errors.Join(serveErr, err)
	default:
		return err
	}
}

// newClient keeps as many connections as there are requests, while there are.
func newClient(timeout time.Duration) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 1024, IdleConnTimeout: idleTimeout}
	return &http.Client{Transport: transport, Timeout: timeout}
}
