// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agentgrpc_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start runs an agent with the bulkhead "payments" until the test ends.
func start(t *testing.T, s bulkheadconfig.Service) (*agent.Agent, *limiter.Bulkhead) {
	t.Helper()
	dir := t.TempDir()
	text, err := bulkheadconfig.Encode(map[string]bulkheadconfig.Service{"payments": s})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, bulkheadconfig.Key), text, 0o600))
	a, err := agent.New(dir, agent.WithLameDuck(0), agent.WithDrainTimeout(0), agent.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	must(t, err)
	t.Cleanup(func() { _, _ = a.Shutdown(context.Background()) })
	return a, a.Bulkhead("payments")
}

// service is a gRPC service with one method of each kind, made of functions.
type service struct {
	unary  func(context.Context) error
	stream func(grpc.ServerStream) error
}

const (
	unaryMethod  = "/shop.Payments/Charge"
	streamMethod = "/shop.Payments/Watch"
	healthMethod = "/grpc.health.v1.Health/Check"
)

// method describes one that calls unary.
func (s service) method(name, path string) grpc.MethodDesc {
	handle := func(ctx context.Context, _ any) (any, error) { return &emptypb.Empty{}, s.unary(ctx) }
	return grpc.MethodDesc{MethodName: name, Handler: func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		request := &emptypb.Empty{}
		if err := decode(request); err != nil {
			return nil, err
		}
		if intercept == nil {
			return handle(ctx, request)
		}
		return intercept(ctx, request, &grpc.UnaryServerInfo{FullMethod: path}, handle)
	}}
}

func (s service) register(server *grpc.Server) {
	watch := func(_ any, stream grpc.ServerStream) error { return s.stream(stream) }
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "shop.Payments", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{s.method("Charge", unaryMethod)},
		Streams: []grpc.StreamDesc{{StreamName: "Watch", Handler: watch, ServerStreams: true, ClientStreams: true}},
	}, nil)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "grpc.health.v1.Health", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{s.method("Check", healthMethod)},
	}, nil)
}

// connect serves the service in memory and connects to it, until the test ends.
func connect(t *testing.T, s service, serverOptions []grpc.ServerOption, clientOptions ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	server := grpc.NewServer(serverOptions...)
	s.register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:///payments", append(clientOptions,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))...)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func charge(ctx context.Context, conn *grpc.ClientConn, options ...grpc.CallOption) error {
	return conn.Invoke(ctx, unaryMethod, &emptypb.Empty{}, &emptypb.Empty{}, options...)
}

func watch(ctx context.Context, conn *grpc.ClientConn, desc grpc.StreamDesc) (grpc.ClientStream, error) {
	return conn.NewStream(ctx, &desc, streamMethod)
}

// both says that both sides stream.
var both = grpc.StreamDesc{ServerStreams: true, ClientStreams: true}

// inFlight waits until so many calls are: what one side does reaches the other a
// moment later.
func inFlight(t *testing.T, b *limiter.Bulkhead, want int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); b.InFlight() != want; {
		if time.Now().After(deadline) {
			t.Fatalf("%d in flight, want %d", b.InFlight(), want)
		}
	}
}

func answer(context.Context) error { return nil }
