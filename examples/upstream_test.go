// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	pb "google.golang.org/grpc/interop/grpc_testing"
)

// upstream is the slow service that the examples call. It can hold some of the
// calls, so that a test knows exactly which ones are running.
type upstream struct {
	served  atomic.Int64
	toHold  atomic.Int64
	held    chan struct{}
	release chan struct{}
}

func newUpstream() *upstream {
	return &upstream{held: make(chan struct{}, 100), release: make(chan struct{})}
}

// call takes 20 ms, or until it is released if it is one to be held. It counts if
// its caller was still there.
func (u *upstream) call(ctx context.Context) {
	over := time.NewTimer(20 * time.Millisecond)
	defer over.Stop()
	end := (<-chan struct{})(nil)
	tick := over.C
	if u.toHold.Add(-1) >= 0 {
		u.held <- struct{}{}
		end, tick = u.release, nil
	}
	select {
	case <-tick:
	case <-end:
	case <-ctx.Done():
		return
	}
	u.served.Add(1)
}

// hold holds the next n calls, and returns when they are here.
func (u *upstream) hold(t *testing.T, n int) {
	t.Helper()
	u.toHold.Store(int64(n))
	for range n {
		select {
		case <-u.held:
		case <-time.After(grace):
			t.Fatal("there are not so many calls to hold")
		}
	}
}

func serveHTTP(t *testing.T, u *upstream) (target string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { u.call(r.Context()) }))
	t.Cleanup(server.Close)
	return server.URL
}

func serveGRPC(t *testing.T, u *upstream) (target string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := grpc.NewServer()
	pb.RegisterTestServiceServer(server, &grpcUpstream{upstream: u})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

type grpcUpstream struct {
	pb.UnimplementedTestServiceServer
	upstream *upstream
}

func (g *grpcUpstream) UnaryCall(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	g.upstream.call(ctx)
	return &pb.SimpleResponse{}, nil
}
