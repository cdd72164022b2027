// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agentgrpc_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/agent/agentgrpc"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

func client(a *agent.Agent) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(agentgrpc.UnaryClientInterceptor(a, "payments")),
		grpc.WithChainStreamInterceptor(agentgrpc.StreamClientInterceptor(a, "payments")),
	}
}

func minute() bulkheadconfig.Service {
	return bulkheadconfig.Service{Limit: 1, ReclaimAfter: time.Minute}
}

func TestUnaryCallHoldsASlotWhileItRuns(t *testing.T) {
	a, payments := start(t, minute())
	conn := connect(t, service{unary: func(context.Context) error {
		if n := payments.InFlight(); n != 1 {
			t.Errorf("in flight while the call runs: %d", n)
		}
		return status.Error(codes.NotFound, "no such order")
	}}, nil, client(a)...)
	if err := charge(t.Context(), conn); status.Code(err) != codes.NotFound {
		t.Errorf("error %v, want the service's own", err)
	}
	if n := payments.InFlight(); n != 0 {
		t.Errorf("in flight after the call: %d", n)
	}
}

func TestRefusedCallsAreNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*limiter.Bulkhead)
		want    error
	}{
		"saturated": {func(b *limiter.Bulkhead) { b.TryAcquire() }, limiter.ErrSaturated},
		"draining":  {func(b *limiter.Bulkhead) { b.StopAdmission() }, limiter.ErrDraining},
	} {
		t.Run(name, func(t *testing.T) {
			a, payments := start(t, minute())
			conn := connect(t, service{
				unary:  func(context.Context) error { t.Error("the call was sent"); return nil },
				stream: func(grpc.ServerStream) error { t.Error("the stream was opened"); return nil },
			}, nil, client(a)...)
			c.prepare(payments)
			_, streamErr := watch(t.Context(), conn, both)
			for _, err := range []error{charge(t.Context(), conn), streamErr} {
				if !errors.Is(err, c.want) || status.Code(err) != codes.Unavailable {
					t.Errorf("error %v with code %v, want %v and Unavailable", err, status.Code(err), c.want)
				}
			}
		})
	}
}

func TestCallerWhoGoesAwayIsNoRefusal(t *testing.T) {
	a, _ := start(t, minute())
	conn := connect(t, service{unary: answer}, nil, client(a)...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if canceled, exceeded := charge(ctx, conn), charge(late, conn); status.Code(canceled) != codes.Canceled || status.Code(exceeded) != codes.DeadlineExceeded {
		t.Errorf("codes %v and %v", status.Code(canceled), status.Code(exceeded))
	}
}

// A call that outlives its slot is not the caller's cancellation.
func TestLapsedCallsSaySo(t *testing.T) {
	a, payments := start(t, bulkheadconfig.Service{Limit: 1, ReclaimAfter: 50 * time.Millisecond})
	conn := connect(t, service{
		unary:  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		stream: func(s grpc.ServerStream) error { <-s.Context().Done(); return nil },
	}, nil, client(a)...)
	check := func(err error) {
		t.Helper()
		if !errors.Is(err, limiter.ErrReclaimed) || status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("error %v with code %v, want reclaimed and DeadlineExceeded", err, status.Code(err))
		}
	}
	check(charge(t.Context(), conn))
	stream, err := watch(t.Context(), conn, both)
	must(t, err)
	check(stream.RecvMsg(&emptypb.Empty{}))
	if c := payments.Stats().Counts; c.Lapsed != 2 || c.StaleReleases != 0 {
		t.Errorf("counts %+v", c)
	}
}

func TestStreamHoldsASlotUntilItHasEnded(t *testing.T) {
	a, payments := start(t, minute())
	conn := connect(t, service{stream: func(s grpc.ServerStream) error {
		for s.RecvMsg(&emptypb.Empty{}) == nil { // until the client has sent all
		}
		return s.SendMsg(&emptypb.Empty{})
	}}, nil, client(a)...)
	for name, c := range map[string]struct {
		desc grpc.StreamDesc
		end  func(context.CancelFunc, grpc.ClientStream)
	}{
		"read to its end": {both, func(_ context.CancelFunc, s grpc.ClientStream) {
			must(t, s.CloseSend())
			must(t, s.RecvMsg(&emptypb.Empty{}))
			if n := payments.InFlight(); n != 1 {
				t.Errorf("in flight before the end was read: %d", n)
			}
			if err := s.RecvMsg(&emptypb.Empty{}); !errors.Is(err, io.EOF) {
				t.Errorf("end of the stream: %v", err)
			}
		}},
		"the only reply": {grpc.StreamDesc{ClientStreams: true}, func(_ context.CancelFunc, s grpc.ClientStream) {
			must(t, s.CloseSend())
			must(t, s.RecvMsg(&emptypb.Empty{}))
		}},
		"cancelled": {both, func(cancel context.CancelFunc, _ grpc.ClientStream) { cancel() }},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream, err := watch(ctx, conn, c.desc)
			must(t, err)
			must(t, stream.SendMsg(&emptypb.Empty{}))
			if n := payments.InFlight(); n != 1 {
				t.Errorf("in flight while the stream is open: %d", n)
			}
			c.end(cancel, stream)
			inFlight(t, payments, 0)
		})
	}
	if c := payments.Stats().Counts; c.StaleReleases != 0 {
		t.Errorf("counts %+v", c)
	}
}

func TestStreamThatCannotBeOpenedReleases(t *testing.T) {
	a, payments := start(t, minute())
	broken := errors.New("broken")
	intercept := agentgrpc.StreamClientInterceptor(a, "payments")
	open := func(fail func() error) (err error) {
		defer func() {
			if recover() != nil {
				err = broken
			}
		}()
		_, err = intercept(t.Context(), &both, nil, streamMethod, func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
			return nil, fail()
		})
		return err
	}
	for _, err := range []error{open(func() error { return broken }), open(func() error { panic("boom") })} {
		if !errors.Is(err, broken) || payments.InFlight() != 0 {
			t.Errorf("error %v, in flight %d", err, payments.InFlight())
		}
	}
}

// retrying opens its stream again, with the same options, when it has failed.
type retrying struct {
	grpc.ClientStream
	open func() (grpc.ClientStream, error)
}

func (r *retrying) RecvMsg(m any) error {
	err := r.ClientStream.RecvMsg(m)
	for status.Code(err) == codes.Unavailable {
		var next grpc.ClientStream
		if next, err = r.open(); err == nil {
			r.ClientStream = next
			err = next.RecvMsg(m)
		}
	}
	return err
}

// The attempts of an interceptor that stands behind ours are one call.
func TestRetriedStreamIsOneCall(t *testing.T) {
	a, payments := start(t, minute())
	var attempts atomic.Int32
	flaky := service{stream: func(s grpc.ServerStream) error {
		if attempts.Add(1) < 3 {
			return status.Error(codes.Unavailable, "not now")
		}
		return s.SendMsg(&emptypb.Empty{})
	}}
	retry := func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
		again := func() (grpc.ClientStream, error) { return open(ctx, desc, cc, method, options...) }
		first, err := again()
		return &retrying{first, again}, err
	}
	conn := connect(t, flaky, nil, append(client(a), grpc.WithChainStreamInterceptor(retry))...)
	stream, err := watch(t.Context(), conn, both)
	must(t, err)
	if err := stream.RecvMsg(&emptypb.Empty{}); err != nil || attempts.Load() != 3 || payments.InFlight() != 1 {
		t.Errorf("after %d attempts: %v, in flight %d", attempts.Load(), err, payments.InFlight())
	}
	if err := stream.RecvMsg(&emptypb.Empty{}); !errors.Is(err, io.EOF) || payments.InFlight() != 0 {
		t.Errorf("end: %v, in flight %d", err, payments.InFlight())
	}
}

func TestClosedConnectionEndsItsStreams(t *testing.T) {
	a, payments := start(t, minute())
	conn := connect(t, service{stream: func(s grpc.ServerStream) error { <-s.Context().Done(); return nil }}, nil, client(a)...)
	_, err := watch(t.Context(), conn, both)
	must(t, err)
	must(t, conn.Close())
	inFlight(t, payments, 0)
}
