// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agentgrpc

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// statusError is an error of the limiter that gRPC knows the code of.
type statusError struct {
	error
	code codes.Code
}

// GRPCStatus is what status.FromError looks for.
func (e *statusError) GRPCStatus() *status.Status { return status.New(e.code, e.Error()) }

// Unwrap returns the limiter's error.
func (e *statusError) Unwrap() error { return e.error }

// refusal gives the error of a call that was not admitted its code.
func refusal(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &statusError{err, codes.DeadlineExceeded}
	case errors.Is(err, context.Canceled):
		return &statusError{err, codes.Canceled}
	default:
		return &statusError{err, codes.Unavailable}
	}
}

// outcome gives the error of a call that ran a better code, if the bulkhead ended
// its context and the call has nothing more precise to say.
func outcome(err error) error {
	code := status.Code(err)
	switch {
	case code != codes.Canceled && code != codes.Unknown:
		return err
	case errors.Is(err, limiter.ErrReclaimed):
		return &statusError{err, codes.DeadlineExceeded}
	case errors.Is(err, limiter.ErrDraining):
		return &statusError{err, codes.Unavailable}
	default:
		return err
	}
}

// answer is what a handler's client gets: the handler's own error, word by word,
// unless the bulkhead has a better code for it.
func answer(own, err error) error {
	if better, ok := errors.AsType[*statusError](outcome(err)); ok {
		return better
	}
	return own
}

// pushback tells the client's retry policy not to retry: a negative number does
// (https://github.com/grpc/proposal/blob/master/A6-client-retries.md#pushback).
var pushback = metadata.Pairs("grpc-retry-pushback-ms", "-1")

// turnAway is the error that a server refuses a call with.
func turnAway(ctx context.Context, err error) error {
	if !errors.Is(err, limiter.ErrDraining) {
		_ = grpc.SetTrailer(ctx, pushback) // fails only where there is no client to tell
	}
	return refusal(err)
}
