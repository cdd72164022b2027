// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agentgrpc_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/agent/agentgrpc"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

func server(a *agent.Agent) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(agentgrpc.UnaryServerInterceptor(a, "payments")),
		grpc.ChainStreamInterceptor(agentgrpc.StreamServerInterceptor(a, "payments")),
	}
}

// A stream counts until its handler has returned, also when its client has long
// gone: that is what the handler costs.
func TestCancelledStreamCountsWhileItsHandlerRuns(t *testing.T) {
	a, payments := start(t, minute())
	began, over := make(chan struct{}), make(chan struct{})
	conn := connect(t, service{stream: func(s grpc.ServerStream) error {
		close(began)
		<-s.Context().Done()
		<-over
		return nil
	}}, server(a))
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := watch(ctx, conn, both)
	must(t, err)
	<-began
	cancel()
	if err := stream.RecvMsg(&emptypb.Empty{}); status.Code(err) != codes.Canceled {
		t.Errorf("client: %v", err)
	}
	if n := payments.InFlight(); n != 1 {
		t.Errorf("in flight while the handler runs: %d, want 1", n)
	}
	close(over)
	inFlight(t, payments, 0)
}

// The client's own retry policy would send a refused call again, and again.
func TestRefusedCallsAreNotRetriedInsideTheCall(t *testing.T) {
	const eager = `{"methodConfig": [{"name": [{}], "retryPolicy": {
		"maxAttempts": 4, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`
	for name, c := range map[string]struct {
		prepare  func(*limiter.Bulkhead)
		attempts int32
	}{
		"saturated":                 {func(b *limiter.Bulkhead) { b.TryAcquire() }, 1},
		"draining, another may not": {func(b *limiter.Bulkhead) { b.StopAdmission() }, 4},
	} {
		t.Run(name, func(t *testing.T) {
			a, payments := start(t, minute())
			var unary, streams atomic.Int32
			counting := []grpc.ServerOption{
				grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
					unary.Add(1)
					return handle(ctx, request)
				}),
				grpc.ChainStreamInterceptor(func(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
					streams.Add(1)
					return handle(server, stream)
				}),
			}
			conn := connect(t, service{}, append(counting, server(a)...), grpc.WithDefaultServiceConfig(eager))
			c.prepare(payments)
			stream, err := watch(t.Context(), conn, both)
			must(t, err)
			for _, err := range []error{charge(t.Context(), conn), stream.RecvMsg(&emptypb.Empty{})} {
				if status.Code(err) != codes.Unavailable {
					t.Errorf("error %v, want Unavailable", err)
				}
			}
			if unary.Load() != c.attempts || streams.Load() != c.attempts {
				t.Errorf("attempts: %d unary, %d streams; want %d", unary.Load(), streams.Load(), c.attempts)
			}
		})
	}
}

func TestHealthChecksPassBy(t *testing.T) {
	a, payments := start(t, minute())
	conn := connect(t, service{unary: answer}, server(a))
	payments.TryAcquire()
	if err := conn.Invoke(t.Context(), healthMethod, &emptypb.Empty{}, &emptypb.Empty{}); err != nil {
		t.Errorf("health of a saturated server: %v", err)
	}
	var trailer metadata.MD
	if err := charge(t.Context(), conn, grpc.Trailer(&trailer)); status.Code(err) != codes.Unavailable || trailer.Get("grpc-retry-pushback-ms")[0] != "-1" {
		t.Errorf("other calls: %v, trailer %v", err, trailer)
	}
}

func TestLapsedHandlersSaySo(t *testing.T) {
	a, payments := start(t, bulkheadconfig.Service{Limit: 1, ReclaimAfter: 50 * time.Millisecond})
	causes := make(chan error, 2)
	wait := func(ctx context.Context) error {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return ctx.Err()
	}
	conn := connect(t, service{unary: wait, stream: func(s grpc.ServerStream) error { return wait(s.Context()) }}, server(a))
	stream, err := watch(t.Context(), conn, both)
	must(t, err)
	for _, err := range []error{stream.RecvMsg(&emptypb.Empty{}), charge(t.Context(), conn)} {
		if status.Code(err) != codes.DeadlineExceeded || !errors.Is(<-causes, limiter.ErrReclaimed) {
			t.Errorf("error %v, want DeadlineExceeded", err)
		}
	}
	if c := payments.Stats().Counts; c.LateReleases != 2 {
		t.Errorf("counts %+v", c)
	}
}

// What a handler tells its client stays as it is, also when its slot has lapsed.
func TestHandlersOwnStatusIsNotReworded(t *testing.T) {
	a, _ := start(t, bulkheadconfig.Service{Limit: 1, ReclaimAfter: 50 * time.Millisecond})
	gone := status.Error(codes.NotFound, "no such order")
	conn := connect(t, service{
		unary:  func(ctx context.Context) error { <-ctx.Done(); return gone },
		stream: func(s grpc.ServerStream) error { <-s.Context().Done(); return gone },
	}, server(a))
	stream, err := watch(t.Context(), conn, both)
	must(t, err)
	for _, err := range []error{stream.RecvMsg(&emptypb.Empty{}), charge(t.Context(), conn)} {
		if s := status.Convert(err); s.Code() != codes.NotFound || s.Message() != "no such order" {
			t.Errorf("error %v", err)
		}
	}
}
