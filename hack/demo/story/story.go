// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package story

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// timeLimit bounds the acts of a demo.
const timeLimit = 3 * time.Minute

// Act is one part of a demo: what it shows and why, and how, on a stage of the
// demo's own.
type Act[S any] struct {
	Title, Text string
	Play        func(ctx context.Context, stage S) error
}

// Run is the main function of a demo: it tells the story on standard output, and
// returns the exit code. The context ends with Ctrl-C, SIGTERM or SIGHUP.
func Run(intro string, perform func(context.Context, *Teller) error) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // whoever reads the output may go first; things are still cleaned up
	t := NewTeller(os.Stdout)
	t.Line(intro)
	if err := perform(ctx, t); err != nil {
		t.failure(err)
		return 1
	}
	return 0
}

// Play plays the acts in order, until one cannot go on, and shows every check once
// more. The error says why the demo could not go on, or that a check failed.
func Play[S any](ctx context.Context, t *Teller, stage S, acts []Act[S]) error {
	begin := time.Now()
	err := playAll(ctx, t, stage, acts)
	t.summarize(time.Since(begin))
	if failed := t.Failed(); err == nil && failed > 0 {
		err = fmt.Errorf("%d of %d checks failed", failed, len(t.checks))
	}
	return err
}

func playAll[S any](ctx context.Context, t *Teller, stage S, acts []Act[S]) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeLimit, fmt.Errorf("not over after %s", timeLimit))
	defer cancel()
	for i, a := range acts {
		t.act(i+1, len(acts), a.Title, a.Text)
		if err := a.Play(ctx, stage); err != nil {
			return fmt.Errorf("%s: %w", a.Title, err)
		}
	}
	return nil
}

const rootModule = "github.com/servicebulkhead/servicebulkhead"

// Root finds the repository around the working directory.
func Root(ctx context.Context) (string, error) {
	text, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", rootModule).Output()
	if err != nil {
		return "", fmt.Errorf("find the repository: run this in its root directory: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
