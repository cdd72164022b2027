// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agentgrpc

import (
	"context"
	"strings"

	"google.golang.org/grpc"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// UnaryServerInterceptor serves calls through the bulkhead of that name. A call
// holds its slot until its handler has returned or panicked, also if its client has
// gone. The handler's context also ends when the slot lapses, with
// limiter.ErrReclaimed as its cause (unless the bulkhead's OnReclaim is Release).
//
// Health checks (grpc.health.v1) pass it by: a saturated server is healthy.
func UnaryServerInterceptor(a *agent.Agent, name string) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if isHealthCheck(info.FullMethod) {
			return handle(ctx, request)
		}
		admitted := false
		var own error
		reply, err := limiter.Call(ctx, a.Bulkhead(name), func(ctx context.Context) (reply any, err error) {
			admitted = true
			reply, own = handle(ctx, request)
			return reply, own
		})
		if err != nil && !admitted {
			return nil, turnAway(ctx, err)
		}
		return reply, answer(own, err)
	}
}

// StreamServerInterceptor serves streams through the bulkhead of that name, in the
// same way: until the handler has returned.
func StreamServerInterceptor(a *agent.Agent, name string) grpc.StreamServerInterceptor {
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if isHealthCheck(info.FullMethod) {
			return handle(server, stream)
		}
		admitted := false
		var own error
		err := a.Bulkhead(name).Do(stream.Context(), func(ctx context.Context) error {
			admitted = true
			own = handle(server, &serverStream{stream, ctx})
			return own
		})
		if err != nil && !admitted {
			return turnAway(stream.Context(), err)
		}
		return answer(own, err)
	}
}

func isHealthCheck(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") }

// serverStream is a stream with the context of its call.
type serverStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s *serverStream) Context() context.Context { return s.ctx }
