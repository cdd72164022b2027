// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/localplane"
	"github.com/servicebulkhead/servicebulkhead/hack/localplane/testbed"
)

// plan says how often each fault is caused.
type plan struct {
	kills, edits, serverCrashes, etcdCrashes, leaderKills, leaderFreezes, stalls int
	stall                                                                        time.Duration
}

var full = plan{
	kills: 50, edits: 24, serverCrashes: 2, etcdCrashes: 2, leaderKills: 1, leaderFreezes: 1, stalls: 1, stall: 12 * time.Second,
}

// timeLimit bounds a run, what has to be built aside.
const timeLimit = 6 * time.Minute

func main() {
	// Children are killed when the thread that started them ends: this one does not.
	runtime.LockOSThread()
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano())%1_000_000, "the `number` that the random choices follow from")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := localplane.WithParent(ctx)
	defer cancel()
	if err := run(ctx, os.Stdout, full, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1) //nolint:gocritic // run has cleaned up; what is deferred here ends with the process
	}
}

func run(ctx context.Context, out io.Writer, p plan, seed uint64) (err error) {
	report := testbed.NewReport(out)
	report.Section("starting a control plane with config/default on it; the seed is %d", seed)
	bed, err := testbed.New(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	ctx, cancel := context.WithTimeoutCause(ctx, timeLimit, fmt.Errorf("not over after %s", timeLimit))
	defer cancel()
	t := newTrial(bed, report, seed)
	if err := t.begin(ctx); err != nil {
		return err
	}
	for _, fault := range []func(context.Context, plan) error{
		t.kills, t.edits, t.serverCrashes, t.etcdCrashes, t.leaderKills, t.leaderFreezes, t.stalls, t.end,
	} {
		if err := fault(ctx, p); err != nil {
			return err
		}
	}
	report.Section("over after %s; seed %d", report.Took().Round(time.Second), seed)
	return report.Err()
}
