// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/servicebulkhead/servicebulkhead/hack/localplane/testbed"
)

// trial is one run.
type trial struct {
	bed     *testbed.Bed
	report  *testbed.Report
	random  *rand.Rand
	fleet   *fleet
	stirrer *stirrer
	witness *witness
	outage  bool // the API server or etcd has been away
}

func newTrial(bed *testbed.Bed, report *testbed.Report, seed uint64) *trial {
	s := newStirrer(bed.Admin, seed)
	return &trial{
		bed: bed, report: report, random: rand.New(rand.NewPCG(seed, 2)), fleet: &fleet{bed: bed},
		stirrer: s, witness: newWitness(bed.Admin, s),
	}
}

// begin makes the namespaces, and in each a bulkhead that becomes invalid once it was
// accepted.
func (t *trial) begin(ctx context.Context) error {
	for n := range namespaceCount {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(n)}}
		if err := t.bed.Admin.Create(ctx, namespace); err != nil {
			return err
		}
		if err := t.bed.Admin.Create(ctx, t.kept(n)); err != nil {
			return err
		}
	}
	go t.witness.run(ctx)
	if err := t.fleet.deploy(1, alone...); err != nil {
		return err
	}
	took, err := t.converge(ctx)
	if err != nil {
		return err
	}
	if err := t.outdate(ctx); err != nil {
		return err
	}
	t.report.Note("from the operator's start to the first documents", "%.2fs", took.Seconds())
	_, err = t.converge(ctx)
	return err
}

// alone are the flags of a replica that has no other beside it: a killed one would be
// waited for until its lease runs out.
var alone = []string{"--leader-elect=false"}

// rounds repeats a fault, while bulkheads change and a moment longer, and looks each
// time whether everything converges.
func (t *trial) rounds(ctx context.Context, what string, n int, fault func(context.Context) error) error {
	if n == 0 {
		return nil
	}
	t.report.Section("%s, %d times", what, n)
	var took []time.Duration
	for i := range n {
		stop := t.stirrer.start(ctx)
		err := fault(ctx)
		stop()
		if err != nil {
			return fmt.Errorf("%s, time %d: %w", what, i+1, err)
		}
		d, err := t.converge(ctx)
		if err != nil {
			t.report.Must(false, "converged", "in every round", "not in round %d", i+1)
			return fmt.Errorf("%s, time %d: %w", what, i+1, err)
		}
		took = append(took, d)
	}
	slices.Sort(took)
	t.report.Must(true, "converged to the bytes of a new operator", "in every round", "%d of %d", n, n)
	t.report.Note("from the last change until then, p50 and longest", "%.2fs, %.2fs", took[n/2].Seconds(), took[n-1].Seconds())
	return t.look()
}

// look says what the witness and the logs have to say so far.
func (t *trial) look() error {
	versions, faults := t.witness.result()
	t.report.Must(len(faults) == 0, "documents with an entry lost or torn, so far", "0", "%d of %d", len(faults), versions)
	complaints := t.bed.Complaints()
	if !t.outage {
		t.report.Must(len(complaints) == 0, "error lines before the first outage", "0", "%d", len(complaints))
	}
	bad := conflicts(complaints)
	t.report.Must(len(bad) == 0, "error lines for a mere conflict, and panics, so far", "0", "%d", len(bad))
	for _, line := range slices.Concat(faults, bad)[:min(5, len(faults)+len(bad))] {
		t.report.Note("", "%s", line)
	}
	return nil
}

// pause lets some time pass.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end replaces the operator once more, on a quiet cluster: it must find nothing to do.
func (t *trial) end(ctx context.Context, _ plan) error {
	t.report.Section("a new operator finds everything as it would have it")
	before, err := take(ctx, t.bed.Admin)
	if err != nil {
		return err
	}
	if err := t.fleet.deploy(1, alone...); err != nil {
		return err
	}
	err = t.passes(ctx, len(before.texts))
	after, takeErr := take(ctx, t.bed.Admin)
	if err := errors.Join(err, takeErr); err != nil {
		return err
	}
	changed := 0
	for name, version := range after.versions {
		if before.versions[name] != version {
			changed++
		}
	}
	t.report.Must(changed == 0 && maps.Equal(before.texts, after.texts), "objects that it wrote", "0", "%d of %d", changed, len(after.versions))
	tried, failed := t.stirrer.count()
	t.report.Note("changes of bulkheads; those that a fault met", "%d; %d", tried, failed)
	t.report.Note("operators that ended by themselves and were restarted", "%d", t.fleet.restarts)
	t.report.Note("error lines, all of outages", "%s", causes(t.bed.Complaints()))
	return t.look()
}

// passes waits until the only operator has looked at so many ConfigMaps.
func (t *trial) passes(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, convergeTimeout, fmt.Errorf("fewer than %d passes within %s", n, convergeTimeout))
	defer cancel()
	for {
		sums, err := t.fleet.replicas[0].Sums(ctx)
		if err == nil && sums["controller_runtime_reconcile_total"] >= float64(n) {
			return nil
		}
		if err := pause(ctx, convergePoll); err != nil {
			return err
		}
	}
}
