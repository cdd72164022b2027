// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/localplane"
	"github.com/servicebulkhead/servicebulkhead/hack/localplane/testbed"
)

// size is how much there is of everything.
type size struct {
	namespaces, maps, bulkheads int // maps of each namespace, bulkheads of each map
	changes, bursts             int
	unrelated, labelled         int // giant ConfigMaps
	resyncs                     int
}

// full is what the figures are about: 5,000 bulkheads in 500 ConfigMaps.
var full = size{
	namespaces: 50, maps: 10, bulkheads: 10, changes: 300, bursts: 50, unrelated: 500, labelled: 50, resyncs: 10,
}

// timeLimit bounds a run, what has to be built aside.
const timeLimit = 10 * time.Minute

func main() {
	// Children are killed when the thread that started them ends: this one does not.
	runtime.LockOSThread()
	seed := flag.Uint64("seed", 1, "the `number` that the random choices follow from")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := localplane.WithParent(ctx)
	defer cancel()
	if err := run(ctx, full, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1) //nolint:gocritic // run has cleaned up; what is deferred here ends with the process
	}
}

func run(ctx context.Context, s size, seed uint64) (err error) {
	report := testbed.NewReport(os.Stdout)
	report.Section("starting a control plane with config/default on it")
	bed, err := testbed.New(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	ctx, cancel := context.WithTimeoutCause(ctx, timeLimit, fmt.Errorf("not over after %s", timeLimit))
	defer cancel()
	trial := &trial{size: s, bed: bed, report: report, seed: seed}
	for _, part := range []func(context.Context) error{
		trial.begin, trial.populate, trial.change, trial.burst, trial.giants, trial.restart,
	} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	report.Section("over after %s; %d cores, shared by everything", report.Took().Round(time.Second), runtime.NumCPU())
	return report.Err()
}
