// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

func TestSpreadTakesTheNearestRank(t *testing.T) {
	var all []time.Duration
	for n := 200; n > 0; n-- {
		all = append(all, time.Duration(n))
	}
	if got, want := newSpread(all), (spread{p50: 100, p90: 180, p99: 198, max: 200}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := newSpread(all[:1]), (spread{200, 200, 200, 200}); got != want {
		t.Errorf("of one: got %+v, want %+v", got, want)
	}
}

func TestParallelDoesEachOnce(t *testing.T) {
	var sum atomic.Int64
	err := parallel(t.Context(), 4, 100, func(_ context.Context, i int) error { sum.Add(int64(i)); return nil })
	if err != nil || sum.Load() != 4950 {
		t.Errorf("got %d, %v", sum.Load(), err)
	}
	wrong := errors.New("wrong")
	if err := parallel(t.Context(), 4, 100, func(context.Context, int) error { return wrong }); !errors.Is(err, wrong) {
		t.Errorf("got %v, want %v", err, wrong)
	}
}

// TestEveryBulkheadHasAPlace of its own, and every ConfigMap equally many.
func TestEveryBulkheadHasAPlace(t *testing.T) {
	s := &trial{size: size{namespaces: 5, maps: 4, bulkheads: 3}}
	keys, maps := map[types.NamespacedName]bool{}, map[types.NamespacedName]int{}
	for n := range s.total() {
		keys[s.key(n)] = true
		maps[s.configMap(n)]++
	}
	if len(keys) != 60 || len(maps) != 20 {
		t.Errorf("%d bulkheads in %d ConfigMaps", len(keys), len(maps))
	}
	for key, n := range maps {
		if n != 3 {
			t.Errorf("%s has %d", key, n)
		}
	}
	for n := range s.bulkheads { // as a burst counts them
		if got, want := s.configMap(7+n*s.namespaces*s.maps), s.configMap(7); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestReadyIsAboutTheObjectAsItIs(t *testing.T) {
	o := &observer{ready: map[types.NamespacedName]bool{}}
	b := &v1alpha1.ServiceBulkhead{ObjectMeta: metav1.ObjectMeta{Name: "payments", Generation: 2}}
	saw := func(generation int64) int {
		b.Status.ObservedGeneration = generation
		b.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: generation,
		}}
		o.sawBulkhead(watch.Event{Type: watch.Modified, Object: b})
		return o.seen.ready
	}
	for _, step := range []struct {
		generation int64
		want       int
	}{{1, 0}, {2, 1}, {2, 1}, {1, 0}, {2, 1}} {
		if got := saw(step.generation); got != step.want {
			t.Errorf("about generation %d of 2: got %d, want %d", step.generation, got, step.want)
		}
	}
	o.sawBulkhead(watch.Event{Type: watch.Deleted, Object: b})
	if o.seen.ready != 0 {
		t.Errorf("deleted: got %d", o.seen.ready)
	}
}
