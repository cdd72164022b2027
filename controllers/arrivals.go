// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// arrivals remembers since when a ConfigMap waits for a pass. The clock starts when
// the watch brings the change: what the API server notes of its time is no finer than
// a second.
type arrivals struct {
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

func newArrivals() *arrivals { return &arrivals{since: map[types.NamespacedName]time.Time{}} }

// request is requestConfigMap with the time noted.
func (a *arrivals) request(ctx context.Context, object client.Object) []reconcile.Request {
	requests := requestConfigMap(ctx, object)
	for _, r := range requests {
		a.note(r.NamespacedName, time.Now())
	}
	return requests
}

// note keeps the earlier of two.
func (a *arrivals) note(key types.NamespacedName, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if was, ok := a.since[key]; !ok || at.Before(was) {
		a.since[key] = at
	}
}

// take forgets the arrival and returns it; it is zero when there was none.
func (a *arrivals) take(key types.NamespacedName) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := a.since[key]
	delete(a.since, key)
	return at
}
