// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

// resync is the resync period of the second operator: the first one's hour is too
// long to wait for. client-go shortens it by up to a tenth.
const resync = 4 * time.Second

const passes = "controller_runtime_reconcile_total"

// restart starts another operator on the whole population, and lets it look at
// everything again and again: it has nothing to write.
func (t *trial) restart(ctx context.Context) (err error) {
	t.report.Section("a new operator, and %d idle resyncs", t.resyncs)
	t.operator.Stop(time.Minute)
	t.report.Must(t.operator.State() == "exit status 0", "the operator on SIGTERM ends with", "exit status 0", "%s", t.operator.State())
	before := t.observer.now()
	began := time.Now()
	if t.operator, err = t.bed.StartOperator("--resync-period=" + resync.String()); err != nil {
		return err
	}
	all := t.namespaces*t.maps + t.labelled
	if err := t.awaitPasses(ctx, all); err != nil {
		return err
	}
	t.report.Note("from its start until it has looked at everything", "%.1fs", time.Since(began).Seconds())
	// Bulkheads and ConfigMaps are resynchronised by themselves, and the same ConfigMap may be
	// asked for by both at once: a resync makes between one and two passes of each.
	if err := t.awaitPasses(ctx, all+t.resyncs*2*all); err != nil {
		return err
	}
	took := time.Since(began)
	s := t.observer.now()
	t.report.Note("passes over a ConfigMap, in time", "%d in %.1fs", all+t.resyncs*2*all, took.Seconds())
	t.report.Must(s.mapWrites == before.mapWrites, "ConfigMaps written", "0", "%d", s.mapWrites-before.mapWrites)
	t.report.Must(s.bulkheadWrites == before.bulkheadWrites, "statuses written", "0", "%d", s.bulkheadWrites-before.bulkheadWrites)
	if err := t.checkMemory("resident memory"); err != nil {
		return err
	}
	complaints := t.bed.Complaints()
	t.report.Must(len(complaints) == 0, "lines at error level in the operators' logs", "0", "%d", len(complaints))
	for _, line := range complaints[:min(5, len(complaints))] {
		t.report.Note("", "%s", line)
	}
	return nil
}

// awaitPasses waits until the operator has made so many.
func (t *trial) awaitPasses(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 3*time.Minute, fmt.Errorf("fewer than %d passes within 3m", n))
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		sums, err := t.operator.Sums(ctx)
		if err == nil && sums[passes] >= float64(n) {
			return nil
		}
		select {
		case <-ticker.C:
		case <-t.operator.Ended():
			return fmt.Errorf("the operator ended: %s: %v", t.operator.State(), t.operator.Tail(5))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
