// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agentgrpc makes and serves gRPC calls through an agent's bulkheads.
//
//	conn, err := grpc.NewClient(target,
//		grpc.WithChainUnaryInterceptor(agentgrpc.UnaryClientInterceptor(a, "payments")),
//		grpc.WithChainStreamInterceptor(agentgrpc.StreamClientInterceptor(a, "payments")))
//	server := grpc.NewServer(
//		grpc.ChainUnaryInterceptor(agentgrpc.UnaryServerInterceptor(a, "inbound")),
//		grpc.ChainStreamInterceptor(agentgrpc.StreamServerInterceptor(a, "inbound")))
//
// A call holds its slot until it has really ended, and a stream to the end of the
// stream. While it is held, the agent's drain waits for it and reports it.
//
// A call that is not admitted fails with codes.Unavailable, which is 503: our own
// backpressure, neither the service's failure nor the caller's quota. It is not to
// be retried inside the call. A client's interceptor refuses outside of gRPC's own
// retries. A server's says so in the trailer grpc-retry-pushback-ms, which retry
// policies heed (gRPC proposal A6); only a server that drains leaves it out, because
// a retry may reach another one. A call that outlived its slot fails with
// codes.DeadlineExceeded. On the client's side errors.Is and errors.As find the
// limiter's errors.
//
// It is a module of its own so that only who imports it inherits its version of
// gRPC. It does not set deadlines, does not retry, and does not balance load.
package agentgrpc
