// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agentgrpc

import (
	"context"
	"errors"
	"io"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// UnaryClientInterceptor makes calls through the service's bulkhead. A call waits
// for a slot for at most the wait budget. When its slot lapses, its context ends
// (unless the bulkhead's OnReclaim is Release) and it fails with
// codes.DeadlineExceeded; errors.Is(err, limiter.ErrReclaimed) then holds.
//
// An interceptor that retries belongs outside: chain it before this one, and tell it
// to stop at limiter.ErrSaturated. Where it cannot be told, chain it after this one.
func UnaryClientInterceptor(a *agent.Agent, service string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		admitted := false
		err := a.Bulkhead(service).Do(ctx, func(ctx context.Context) error {
			admitted = true
			return invoke(ctx, method, request, reply, cc, options...)
		})
		if err != nil && !admitted {
			return refusal(err)
		}
		return outcome(err)
	}
}

// StreamClientInterceptor opens streams through the service's bulkhead. A stream
// holds its slot, over all attempts of an interceptor that retries after this one,
// until it has ended as grpc.ClientConn.NewStream says: RecvMsg has
// returned an error, io.EOF included, or the only message of a reply that is not a
// stream; SendMsg or Header has failed; its context or the connection has ended.
// One that is left without any of these keeps its slot until that lapses, so a
// service with streams needs a window longer than any of them.
//
// Waiting, refusals and lapses are as with UnaryClientInterceptor; the error of a
// lapse is that of RecvMsg, SendMsg or Header.
func StreamClientInterceptor(a *agent.Agent, service string) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
		return openStream(ctx, a.Bulkhead(service), desc, func(ctx context.Context, end grpc.CallOption) (grpc.ClientStream, error) {
			return open(ctx, desc, cc, method, append(slices.Clip(options), end)...)
		})
	}
}

func openStream(ctx context.Context, b *limiter.Bulkhead, desc *grpc.StreamDesc, open func(context.Context, grpc.CallOption) (grpc.ClientStream, error)) (stream grpc.ClientStream, err error) {
	call, err := b.Begin(ctx)
	if err != nil {
		return nil, refusal(err)
	}
	defer func() { // also when open panics
		if stream == nil {
			call.End()
		}
	}()
	opened, err := open(call.Context(), grpc.OnFinish(func(err error) {
		// The end of an attempt; there may be another one, but not on a closed connection.
		if errors.Is(err, grpc.ErrClientConnClosing) { //nolint:staticcheck // its code alone is that of a cancelled attempt, too
			call.End()
		}
	}))
	if err != nil {
		return nil, outcome(call.Explain(err))
	}
	return &clientStream{
		ClientStream: opened, call: call, onlyOneReply: !desc.ServerStreams,
		forget: context.AfterFunc(call.Context(), call.End),
	}, nil
}

// clientStream is a stream that ends its call, and whose errors say when it was the
// bulkhead that ended it.
type clientStream struct {
	grpc.ClientStream
	call         limiter.Ongoing
	onlyOneReply bool
	// forget ends the wait for the end of the call's context.
	forget func() bool
}

// RecvMsg implements grpc.ClientStream.
func (s *clientStream) RecvMsg(m any) error {
	err := s.explain(s.ClientStream.RecvMsg(m))
	if err != nil || s.onlyOneReply {
		s.end()
	}
	return err
}

// SendMsg implements grpc.ClientStream. After io.EOF, RecvMsg has the reason.
func (s *clientStream) SendMsg(m any) error {
	err := s.explain(s.ClientStream.SendMsg(m))
	if err != nil && !errors.Is(err, io.EOF) {
		s.end()
	}
	return err
}

// Header implements grpc.ClientStream.
func (s *clientStream) Header() (metadata.MD, error) {
	header, err := s.ClientStream.Header()
	err = s.explain(err)
	if err != nil && !errors.Is(err, io.EOF) {
		s.end()
	}
	return header, err
}

func (s *clientStream) end() {
	s.forget()
	s.call.End()
}

func (s *clientStream) explain(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return outcome(s.call.Explain(err))
}
