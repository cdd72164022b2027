// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// ShutdownOnSignal waits for SIGTERM or SIGINT, or one of the given signals, and
// then runs Shutdown; a second signal cuts it short in an orderly way. It returns
// early, without a drain, when ctx ends before a signal arrives: do not pass a
// context that ends on the same signal.
//
// A signal that arrives before ShutdownOnSignal is called does what it does without
// an agent: it ends the process at once, the first one of a container with exit code
// 2 and not by the signal. Call it right after the servers have begun
// to serve; the log says when signals are caught.
//
// main should end with it, and not when its server's ListenAndServe returns,
// which is as soon as the drain tells the server to stop.
func (a *Agent) ShutdownOnSignal(ctx context.Context, signals ...os.Signal) (Report, error) {
	if len(signals) == 0 {
		signals = []os.Signal{syscall.SIGTERM, syscall.SIGINT}
	}
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, signals...)
	defer signal.Stop(caught)
	a.drain.log.Info("signals are caught: the next one begins the drain")
	select {
	case s := <-caught:
		a.drain.log.Info("drain begins", "signal", s.String())
	case <-ctx.Done():
		return Report{}, context.Cause(ctx)
	}
	ctx, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	go func() {
		select {
		case s := <-caught:
			cut(fmt.Errorf("second signal: %v", s))
		case <-ctx.Done():
		}
	}()
	return a.Shutdown(ctx)
}
