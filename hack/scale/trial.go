// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/hack/localplane/testbed"
)

// The bounds, as the design sets them.
const (
	mostConverge = 30 * time.Second
	mostChange   = 250 * time.Millisecond
	mostMemory   = 200 // MiB
	mostGrowth   = 16  // MiB, by ConfigMaps that are not the operator's
)

// trial is one run.
type trial struct {
	size
	bed      *testbed.Bed
	report   *testbed.Report
	seed     uint64
	operator *testbed.Operator
	observer *observer
}

func (t *trial) total() int { return t.namespaces * t.maps * t.bulkheads }

// key names the nth bulkhead. Neighbours in number are in different namespaces, as
// changes in a cluster are.
func (t *trial) key(n int) types.NamespacedName {
	namespace, n := n%t.namespaces, n/t.namespaces
	return types.NamespacedName{
		Namespace: fmt.Sprintf("team-%02d", namespace),
		Name:      fmt.Sprintf("service-%d-%d", n%t.maps, n/t.maps),
	}
}

// configMap names the ConfigMap of the nth bulkhead.
func (t *trial) configMap(n int) types.NamespacedName {
	key := t.key(n)
	key.Name = fmt.Sprintf("app-%d-bulkheads", n/t.namespaces%t.maps)
	return key
}

func (t *trial) bulkhead(n int) *v1alpha1.ServiceBulkhead {
	key, limit := t.key(n), int32(25)
	return &v1alpha1.ServiceBulkhead{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: v1alpha1.ServiceBulkheadSpec{
			ConfigMapName: t.configMap(n).Name, Limit: &limit, MaxWait: "50ms", ReclaimAfter: "30s",
		},
	}
}

// setLimit changes one bulkhead, as kubectl patch does.
func (t *trial) setLimit(ctx context.Context, n int, limit int) error {
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"limit":%d}}`, limit))
	key := t.key(n)
	object := &v1alpha1.ServiceBulkhead{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	return t.bed.Admin.Patch(ctx, object, patch)
}

// begin starts the operator on an empty cluster, and watches what it does.
func (t *trial) begin(ctx context.Context) (err error) {
	for n := range t.namespaces {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.key(n).Namespace}}
		if err := t.bed.Admin.Create(ctx, namespace); err != nil {
			return err
		}
	}
	if t.observer, err = observe(ctx, t.bed.Admin); err != nil {
		return err
	}
	t.operator, err = t.bed.StartOperator()
	return err
}

// populate creates every bulkhead, and waits until all are Ready.
func (t *trial) populate(ctx context.Context) error {
	t.report.Section("%d bulkheads in %d ConfigMaps", t.total(), t.namespaces*t.maps)
	began := time.Now()
	err := parallel(ctx, 8, t.total(), func(ctx context.Context, n int) error {
		return t.bed.Admin.Create(ctx, t.bulkhead(n))
	})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	created := time.Now()
	t.report.Note("creating them took", "%.1fs", created.Sub(began).Seconds())
	if err := t.awaitReady(ctx); err != nil {
		return err
	}
	took := max(0, t.observer.now().lastReady.Sub(created))
	t.report.Must(took <= mostConverge, "from the last create to all Ready", "<= 30s", "%.2fs", took.Seconds())
	s := t.observer.now()
	sums, err := t.operator.Sums(ctx)
	if err != nil {
		return err
	}
	t.report.Note("processor time that the operator took", "%.1fs", sums["process_cpu_seconds_total"])
	t.report.Note("ConfigMap writes meanwhile", "%d, %.1f a map", s.mapWrites, float64(s.mapWrites)/float64(t.namespaces*t.maps))
	return t.checkMemory("resident memory")
}

// awaitReady waits until all are Ready as they are now.
func (t *trial) awaitReady(ctx context.Context) error {
	return t.observer.await(ctx, 3*time.Minute, "all Ready", func(s seen) bool { return s.ready == t.total() })
}

// change changes single bulkheads at random, one after the other.
func (t *trial) change(ctx context.Context) error {
	t.report.Section("%d single changes, one after the other", t.changes)
	if err := t.observer.awaitQuiet(ctx); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(t.seed, 1))
	var sent, stored []time.Duration
	for i := range t.changes {
		s, err := t.changeOne(ctx, random.IntN(t.total()), 1000+i)
		if err != nil {
			return err
		}
		sent, stored = append(sent, s.sent), append(stored, s.stored)
	}
	all := newSpread(sent)
	t.report.Must(all.p99 <= mostChange, "change sent -> in its ConfigMap, p99", "<= 250ms", "%s", ms(all.p99))
	t.report.Note("change sent -> in its ConfigMap, p50, p90, max", "%s, %s, %s", ms(all.p50), ms(all.p90), ms(all.max))
	rest := newSpread(stored)
	t.report.Note("change answered -> in its ConfigMap, p50, p99", "%s, %s", ms(rest.p50), ms(rest.p99))
	return nil
}

// sample is how long a change took until it was in its ConfigMap.
type sample struct {
	sent   time.Duration // from when the request was sent
	stored time.Duration // from when the API server had answered it
}

// changeOne changes one bulkhead, and waits until its status says so too, so that
// the next change finds an idle operator.
func (t *trial) changeOne(ctx context.Context, n, limit int) (sample, error) {
	arrived := t.observer.expect(t.configMap(n), t.key(n), limit)
	sent := time.Now()
	if err := t.setLimit(ctx, n, limit); err != nil {
		return sample{}, err
	}
	stored := time.Now()
	select {
	case at := <-arrived:
		s := sample{sent: at.Sub(sent), stored: max(0, at.Sub(stored))}
		return s, t.awaitReady(ctx)
	case <-ctx.Done():
		return sample{}, context.Cause(ctx)
	}
}

// gather is how long the operator gathers the changes that follow a write.
const gather = 100 * time.Millisecond

// burst changes all bulkheads of one ConfigMap at once, for several ConfigMaps.
func (t *trial) burst(ctx context.Context) error {
	t.report.Section("%d bursts: all %d bulkheads of a ConfigMap at once", t.bursts, t.bulkheads)
	total, most, hasty := 0, 0, 0
	var longest time.Duration
	for i := range t.bursts {
		wrote, took, err := t.burstOnce(ctx, i)
		if err != nil {
			return err
		}
		total, most, longest = total+wrote, max(most, wrote), max(longest, took)
		if wrote > 1+int((took+gather-1)/gather) {
			hasty++
		}
	}
	average := float64(total) / float64(t.bursts)
	t.report.Must(average <= 2, "ConfigMap writes of a burst: the first change, and the rest", "<= 2 on average", "%.2f, at most %d", average, most)
	t.report.Must(hasty == 0, "bursts with more writes than one in 100ms", "0", "%d", hasty)
	t.report.Note("from the first change sent to the last write, at most", "%s", ms(longest))
	return nil
}

// burstOnce returns how often the ConfigMap was written, and how long it was from the
// first change to the last write.
func (t *trial) burstOnce(ctx context.Context, i int) (wrote int, took time.Duration, err error) {
	if err := t.observer.awaitQuiet(ctx); err != nil {
		return 0, 0, err
	}
	before, began := t.observer.now().mapWrites, time.Now()
	stride := t.namespaces * t.maps // from one bulkhead of a ConfigMap to the next
	first := i * (stride / t.bursts)
	err = parallel(ctx, t.bulkheads, t.bulkheads, func(ctx context.Context, n int) error {
		t.observer.change(t.key(first + n*stride))
		return t.setLimit(ctx, first+n*stride, 5000+i)
	})
	if err == nil {
		err = t.awaitReady(ctx)
	}
	if err == nil {
		err = t.observer.awaitQuiet(ctx)
	}
	s := t.observer.now()
	return s.mapWrites - before, s.lastMap.Sub(began), err
}

func (t *trial) checkMemory(what string) error {
	m, err := t.operator.Memory()
	t.report.Must(m.Peak <= mostMemory, what, "<= 200 MiB at its peak", "%.0f MiB (peak %.0f)", m.Now, m.Peak)
	return err
}
