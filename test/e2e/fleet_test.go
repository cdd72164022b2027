// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

const (
	fleetSize = 20
	changes   = 30
)

// fleet is many pods that ask to be told of changes, and beside them some that must
// never be: they do not ask, mount another ConfigMap, or mount it so that it would be
// of no use.
type fleet struct {
	namespace string
	pods      []*corev1.Pod
	others    []*corev1.Pod
	patches   *patches
	limit     int32 // last set
	// still is since when nothing changes, and patched how many patches there were then.
	still   time.Time
	patched int
	killed  int
}

// theFleet is made when it is first asked for, and lasts: it is quiet while other
// specs run, and the longer the better.
var theFleet *fleet

func getFleet(ctx context.Context) *fleet {
	GinkgoHelper()
	if theFleet != nil {
		return theFleet
	}
	installNudge(ctx)
	f := &fleet{namespace: lastingNamespace(ctx, "fleet"), limit: 100}
	other := bulkhead(f.namespace, "other", 1)
	other.Spec.ConfigMapName = "other-bulkheads"
	applyObjects(ctx, bulkhead(f.namespace, "payments", f.limit), other)
	kubectl(ctx, "-n", f.namespace, "wait", "--for=condition=Ready", "--timeout=60s", "servicebulkheads", "--all")
	f.patches = watchPatches(lasting, f.namespace)
	applyObjects(ctx,
		f.member("fleet", fleetSize, func(*appsv1.Deployment) {}),
		f.member("silent", 2, func(d *appsv1.Deployment) { delete(d.Spec.Template.Labels, nudgeLabel) }),
		f.member("elsewhere", 1, func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Volumes = []corev1.Volume{bulkheadsVolume(other.Spec.ConfigMapName)}
		}),
		f.member("subpath", 1, func(d *appsv1.Deployment) {
			mount := &d.Spec.Template.Spec.Containers[0].VolumeMounts[0]
			mount.SubPath = "bulkheads.v1.json"
			mount.MountPath += "/" + mount.SubPath
		}))
	f.pods = ready(ctx, f.namespace, "fleet", fleetSize)
	for app, n := range map[string]int{"silent": 2, "elsewhere": 1, "subpath": 1} {
		f.others = append(f.others, ready(ctx, f.namespace, app, n)...)
	}
	inForce(ctx, f.pods, f.limit)
	theFleet = f
	return f
}

// member is a Deployment of the fleet. Its pods are idle, and as many as they are they
// should not keep the node busy.
func (f *fleet) member(name string, replicas int32, change func(*appsv1.Deployment)) *appsv1.Deployment {
	d := shop(f.namespace, name, replicas, "http://127.0.0.1:1")
	d.Spec.Template.Spec.Containers[0].ReadinessProbe.PeriodSeconds = 10
	change(d)
	return d
}

// change changes the limit and returns how long it took until that was in force in
// the first and in the last of the pods.
func (f *fleet) change(ctx context.Context) (first, last time.Duration) {
	GinkgoHelper()
	f.limit++
	began := time.Now()
	patchSpec(ctx, f.namespace, f.limit)
	first, last, err := timeToForce(ctx, f.pods, f.limit, began)
	Expect(err).NotTo(HaveOccurred())
	return first, last
}

// timeToForce asks each pod again and again, and returns when the first and the last
// of them had the limit in force.
func timeToForce(ctx context.Context, pods []*corev1.Pod, limit int32, began time.Time) (first, last time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 3*time.Minute, errors.New("not in force within three minutes"))
	defer cancel()
	took, errs := make([]time.Duration, len(pods)), make([]error, len(pods))
	var all sync.WaitGroup
	for i, pod := range pods {
		all.Go(func() {
			errs[i] = awaitLimit(ctx, pod, limit)
			took[i] = time.Since(began)
		})
	}
	all.Wait()
	return slices.Min(took), slices.Max(took), errors.Join(errs...)
}

// awaitLimit asks a pod again and again whether a limit is in force: every 50 ms, or
// where that goes through the API server less often, so as not to slow down what is
// measured.
func awaitLimit(ctx context.Context, pod *corev1.Pod, limit int32) error {
	every := 50 * time.Millisecond
	if !own() {
		every = 200 * time.Millisecond
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		s, err := stateOf(ctx, pod)
		if err == nil && limitIn(s) == limit {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("pod %s, limit %d: %w", pod.Name, limit, errors.Join(context.Cause(ctx), err))
		case <-ticker.C:
		}
	}
}

var _ = Describe("Pods that ask to be told of changes", Ordered, Label("nudge"), early, func() {
	var f *fleet

	BeforeAll(func(ctx context.Context) { f = getFleet(ctx) }, specLimit)

	// Figures belong into a benchmark, not into a test; but here the figure is what is
	// promised: two seconds are what people wait for a kill switch.
	It("have each of 30 changes in force in all 20 within 2 s, at the 95th percentile", func(ctx context.Context) {
		times := make([]time.Duration, changes)
		for i := range times {
			if i == changes/2 {
				step(ctx, "one change more, while the operator is killed", func(ctx context.Context) {
					_, took := f.change(ctx)
					note("change, nudged", "in force in all 20 pods, operator killed", "%s", took.Round(time.Millisecond))
				})
				_, _, err := awaitLeader(ctx)
				Expect(err).NotTo(HaveOccurred())
			}
			_, times[i] = f.change(ctx)
		}
		f.rest()
		slices.Sort(times)
		note("change, nudged", "in force in all 20 pods, 30 changes", "p50 %s, p95 %s, longest %s",
			percentile(times, 50), percentile(times, 95), percentile(times, 100))
		Expect(percentile(times, 95)).To(BeNumerically("<=", 2*time.Second), "%v", times)
	}, specLimit)

	It("are patched once for each change, and no other pod ever is", func(ctx context.Context) {
		for _, pod := range f.pods {
			s, err := stateOf(ctx, pod)
			Expect(err).NotTo(HaveOccurred())
			seen := f.patches.of(pod)
			Expect(seen.revisions[annotation]).To(Equal(s.Source.Revision), "the annotation says what is in force")
			Expect(seen.count).To(BeNumerically("<=", changes+2), "the first document, 30 changes and one while the operator was killed")
			Expect(seen.touched).To(BeTrue(), "the operator's name is among who wrote")
		}
		for _, pod := range f.others {
			seen := f.patches.of(pod)
			Expect(seen.revisions[annotation]).To(BeEmpty(), "the operator wrote the revision of a ConfigMap on %s, which does not ask for it", pod.Name)
			if pod.Labels[appLabel] != "elsewhere" { // which may have been told of the other ConfigMap, once
				Expect(seen.touched).To(BeFalse(), "the operator wrote on %s", pod.Name)
			}
		}
		note("change, nudged", "patches of 20 pods for 31 changes", "%d; of the 4 other pods 0", f.patches.on(f.pods))
		Expect(leaderLog(ctx)).To(MatchRegexp(f.nudgeLine()), "an operator says which pods it is about to patch")
		Eventually(events).WithContext(ctx).WithArguments(f.namespace, "SubPath").Should(HaveLen(1), "who mounts by subPath is told")
	}, specLimit)
})

// leaderLog is what the operator that leads has written.
func leaderLog(ctx context.Context) string {
	GinkgoHelper()
	pod, _, err := awaitLeader(ctx)
	Expect(err).NotTo(HaveOccurred())
	return kubectl(ctx, "-n", systemNamespace, "logs", pod.Name)
}

// nudgeLine is what an operator writes before it patches pods of the fleet for the
// first time.
func (f *fleet) nudgeLine() string { return "nudging pods.*" + f.namespace }

// rest notes that nothing changes from now on.
func (f *fleet) rest() {
	f.still, f.patched, f.killed = time.Now(), f.patches.total(), killed()
}

// percentile is the nearest rank of sorted times.
func percentile(sorted []time.Duration, p int) time.Duration {
	rank := (len(sorted)*p + 99) / 100
	return sorted[rank-1].Round(time.Millisecond)
}

var _ = Describe("Pods that follow as nothing changes", Label("nudge", "idle"), late, func() {
	It("are never patched: not by an idle operator, nor by a new one", func(ctx context.Context) {
		f := getFleet(ctx)
		if f.still.IsZero() { // run alone
			f.rest()
		}
		idle, err := time.ParseDuration(setting("E2E_IDLE", "1m"))
		Expect(err).NotTo(HaveOccurred(), "E2E_IDLE")
		if installed.upgraded.Before(f.still) {
			step(ctx, "the operator is upgraded", upgrade)
		}
		still := f.still
		if installed.upgraded.After(still) {
			still = installed.upgraded
		}
		Eventually(func() time.Duration { return time.Since(still) }).WithContext(ctx).WithTimeout(idle + time.Minute).WithPolling(time.Second).
			Should(BeNumerically(">=", idle))
		Expect(f.patches.total()).To(Equal(f.patched))
		Expect(leaderLog(ctx)).NotTo(MatchRegexp(f.nudgeLine()), "not even a patch that would change nothing")
		Expect(events(ctx, f.namespace, "SubPath")).To(HaveLen(1), "who mounts by subPath is told once, not by each new operator")
		note("change, nudged", "patches while nothing changes", "0 in %s, %d operators killed and at least one upgrade",
			since(f.still).Round(time.Second), killed()-f.killed)
	}, NodeTimeout(30*time.Minute))
})
