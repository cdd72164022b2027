// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
)

func expectMetrics(t *testing.T, want string, names ...string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(consumers)
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

func TestConsumersAreThoseOfNow(t *testing.T) {
	pods := newFake(append(fleet(3), newPod("later", started(time.Hour)), newPod("stuck", subPath),
		newPod("over", phase(corev1.PodSucceeded)), newPod("going", deleting), newPod("going-later", started(time.Hour), deleting), newPod("foreign", volume(mapped("", "foreign-bulkheads"))))...)
	expectMetrics(t, "", "servicebulkhead_consumers", "servicebulkhead_subpath_consumers")
	withRig(t, pods, 1, func(t *testing.T, r *rig) {
		const help = "# HELP servicebulkhead_consumers Running pods that ask for nudges and mount a ConfigMap, by the revision that they have read or were nudged to last.\n# TYPE servicebulkhead_consumers gauge\n"
		r.publish(1)
		after(700 * time.Millisecond) // one of three is out
		expectMetrics(t, help+`
servicebulkhead_consumers{configmap="service-bulkheads",namespace="shop",revision="(older)"} 2
servicebulkhead_consumers{configmap="service-bulkheads",namespace="shop",revision="0000000000000001"} 2
# HELP servicebulkhead_subpath_consumers Running pods that ask for nudges and mount a ConfigMap by subPath, so that no change of it ever reaches them.
# TYPE servicebulkhead_subpath_consumers gauge
servicebulkhead_subpath_consumers{configmap="service-bulkheads",namespace="shop"} 1
`, "servicebulkhead_consumers", "servicebulkhead_subpath_consumers")

		after(10 * time.Second)
		r.publish(2)
		expectMetrics(t, help+`
servicebulkhead_consumers{configmap="service-bulkheads",namespace="shop",revision="0000000000000001"} 3
servicebulkhead_consumers{configmap="service-bulkheads",namespace="shop",revision="0000000000000002"} 1
`, "servicebulkhead_consumers")
		pods.mu.Lock()
		clear(pods.pods)
		pods.mu.Unlock()
		expectMetrics(t, "", "servicebulkhead_consumers", "servicebulkhead_subpath_consumers")
	})
	expectMetrics(t, "", "servicebulkhead_consumers")
}

func TestRevisionsThatPeopleMakeUpAreOthers(t *testing.T) {
	d := Document{Revision: revision(1), Written: epoch}
	for said, want := range map[string]string{revision(1): revision(1), revision(7): revision(7), "yes": otherValue, "": otherValue, "(long)": otherValue} {
		if got := revisionOf(newPod("one", nudgedTo(said)), configMapName, d); got != want {
			t.Errorf("%q: got %s, want %s", said, got, want)
		}
	}
}

func TestSeriesHaveABound(t *testing.T) {
	counts := map[series]int{}
	for i := range 1500 {
		counts[series{"shop", fmt.Sprintf("m%04d-bulkheads", i), revision(1)}] = 1500 - i
	}
	if few := capped(counts, 1500); !maps.Equal(few, counts) {
		t.Errorf("%d series of 1,500 that are allowed", len(few))
	}
	got := capped(counts, 1000)
	if len(got) != 1000 {
		t.Errorf("%d series", len(got))
	}
	before, after := 0, 0
	for _, n := range counts {
		before += n
	}
	for _, n := range got {
		after += n
	}
	if before != after {
		t.Errorf("%d pods, of %d", after, before)
	}
	if n := got[series{otherValue, otherValue, otherValue}]; n != 501*502/2 {
		t.Errorf("(other) has %d", n)
	}
}

func TestNudgesAreCountedByResult(t *testing.T) {
	pods := newFake(fleet(3)...)
	withRig(t, pods, DefaultRate, func(t *testing.T, r *rig) {
		before := testutil.ToFloat64(nudges.WithLabelValues(string(sent)))
		r.publish(1)
		after(time.Second)
		if got := testutil.ToFloat64(nudges.WithLabelValues(string(sent))) - before; got != 3 {
			t.Errorf("counted %v", got)
		}
	})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(Collectors()...)
	if n, err := testutil.GatherAndCount(registry, "servicebulkhead_nudges_total"); n != 5 || err != nil {
		t.Errorf("%d series, %v", n, err)
	}
	if problems, err := testutil.GatherAndLint(registry); len(problems) > 0 || err != nil {
		t.Errorf("%v, %v", problems, err)
	}
}
