// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// timeLimit bounds the acts; what has to be built is built before.
const timeLimit = 3 * time.Minute

func main() {
	// Children are killed when the thread that started them ends: this one does not.
	runtime.LockOSThread()
	os.Exit(run())
}

const intro = `ServiceBulkhead limits how many calls to a service a process has in flight at once. The limit is a
Kubernetes object; this is its way into a running process, and the demo goes all of it:

  kubectl ─▶ API server ─▶ operator ─▶ ConfigMap ─▶ files ─▶ agent in the shop ─▶ calls to payments
`

// run plays the demo, cleans up and returns the exit code.
func run() (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // whoever reads the output may go first; things are still cleaned up
	out := newPrinter(os.Stdout)
	s, err := newStage(out)
	if err != nil {
		out.failure(err)
		return 1
	}
	defer func() {
		out.line("stopping everything …")
		if err := s.close(); err != nil {
			out.failure(fmt.Errorf("clean up: %w", err))
			code = 1
		}
	}()
	out.line(intro)
	if err := perform(ctx, s, os.Getenv("DEMO_KEEP") != ""); err != nil {
		out.failure(err)
		return 1
	}
	return 0
}

// perform builds, plays, tells how it went and, if asked to, keeps things running.
// The error says why the demo could not go on, or that a check failed.
func perform(ctx context.Context, s *stage, keep bool) error {
	err := s.prepare(ctx)
	if err == nil {
		begin := time.Now()
		err = play(ctx, s, acts(keep))
		s.summarize(time.Since(begin))
	}
	if ctx.Err() != nil { // whatever failed then, failed because of it
		return context.Cause(ctx)
	}
	if failed := s.checks.failed(); err == nil && failed > 0 {
		err = fmt.Errorf("%d of %d checks failed", failed, len(s.checks))
	}
	if err != nil {
		s.showLogs()
		return err
	}
	if keep {
		s.hold(ctx)
	}
	return nil
}

// play plays the acts in order, until one cannot go on.
func play(ctx context.Context, s *stage, acts []act) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeLimit, fmt.Errorf("not over after %s", timeLimit))
	defer cancel()
	for i, a := range acts {
		s.out.act(i+1, len(acts), a.title, a.text)
		if err := a.play(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", a.title, err)
		}
	}
	return nil
}
