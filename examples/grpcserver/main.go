// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Grpcserver is an application that serves gRPC and calls another gRPC service.
// The requests and the calls that they make each have a bulkhead. For want of a
// service of its own it speaks the test service that comes with gRPC.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/agent/agentgrpc"
)

var (
	listen       = flag.String("listen", "127.0.0.1:8080", "the `address` to serve on; port 0 takes a free one")
	bulkheads    = flag.String("bulkheads", "/etc/servicebulkhead", "the `directory` where the ConfigMap is mounted")
	upstream     = flag.String("upstream", "127.0.0.1:8082", "the `target` that each request calls")
	lameDuck     = flag.Duration("lame-duck", 3*time.Second, "for how long to keep serving after SIGTERM, not ready")
	drainTimeout = flag.Duration("drain-timeout", 20*time.Second, "how long requests and calls may take to finish after that")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "grpcserver:", err)
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
	conn, err := grpc.NewClient(*upstream,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(agentgrpc.UnaryClientInterceptor(a, "upstream")))
	if err != nil {
		return err
	}
	server := newServer(a, pb.NewTestServiceClient(conn))
	// The agent waits for it no longer than the drain time-out allows.
	a.OnStop("grpc server", func(context.Context) error { server.GracefulStop(); return nil })
	if err := a.CloseOnShutdown("connection to the upstream", conn); err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(context.Background())
	go func() {
		if err := server.Serve(listener); err != nil {
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

func newServer(a *agent.Agent, upstream pb.TestServiceClient) *grpc.Server {
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(agentgrpc.UnaryServerInterceptor(a, "requests")),
		grpc.ChainStreamInterceptor(agentgrpc.StreamServerInterceptor(a, "requests")))
	pb.RegisterTestServiceServer(server, &shop{upstream: upstream})
	healthpb.RegisterHealthServer(server, &health{agent: a})
	return server
}

// shop passes the upstream's answer on.
type shop struct {
	pb.UnimplementedTestServiceServer
	upstream pb.TestServiceClient
}

// UnaryCall implements pb.TestServiceServer.
func (s *shop) UnaryCall(ctx context.Context, request *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	return s.upstream.UnaryCall(ctx, request)
}

// health answers the readiness probe.
type health struct {
	healthpb.UnimplementedHealthServer
	agent *agent.Agent
}

// Check implements healthpb.HealthServer.
func (h *health) Check(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	status := healthpb.HealthCheckResponse_SERVING
	if !h.agent.Ready() {
		status = healthpb.HealthCheckResponse_NOT_SERVING
	}
	return &healthpb.HealthCheckResponse{Status: status}, nil
}
