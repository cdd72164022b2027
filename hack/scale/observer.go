// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/controllers"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// seen is what an observer has seen so far.
type seen struct {
	mapWrites      int // of ConfigMaps that hold a document
	bulkheadWrites int // of bulkheads and their statuses, by whomever
	ready          int // bulkheads that are Ready as they are now
	lastReady      time.Time
	lastMap        time.Time // when a ConfigMap was written
	last           time.Time // when anything was
}

// observer watches bulkheads and documents.
type observer struct {
	mu       sync.Mutex
	seen     seen
	ready    map[types.NamespacedName]bool
	expected map[types.NamespacedName]expectation // by ConfigMap
	err      error
}

// expectation is a limit that shall appear in a document.
type expectation struct {
	service string
	limit   int
	arrived chan<- time.Time
}

// observe watches until ctx ends.
func observe(ctx context.Context, admin client.WithWatch) (*observer, error) {
	o := &observer{ready: map[types.NamespacedName]bool{}, expected: map[types.NamespacedName]expectation{}}
	labelled := client.MatchingLabels{controllers.ManagedLabel: "true"}
	err1 := o.follow(ctx, o.sawBulkhead, func(from client.ListOption) (watch.Interface, error) {
		return admin.Watch(ctx, &v1alpha1.ServiceBulkheadList{}, from)
	})
	err2 := o.follow(ctx, o.sawMap, func(from client.ListOption) (watch.Interface, error) {
		return admin.Watch(ctx, &corev1.ConfigMapList{}, labelled, from)
	})
	return o, errors.Join(err1, err2)
}

// follow watches. An API server that finds its watcher too slow, on a busy machine,
// ends the watch; it is taken up again where it ended, so that no write is missed.
func (o *observer) follow(ctx context.Context, saw func(watch.Event), open func(from client.ListOption) (watch.Interface, error)) error {
	version := ""
	from := func() client.ListOption {
		return &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}}
	}
	watcher, err := open(from())
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	go func() {
		for err == nil && ctx.Err() == nil {
			for e := range watcher.ResultChan() {
				if object, ok := e.Object.(client.Object); ok {
					version = object.GetResourceVersion()
				} else {
					err = apierrors.FromObject(e.Object)
				}
				o.mu.Lock()
				saw(e)
				o.mu.Unlock()
			}
			if err == nil {
				watcher, err = open(from())
			}
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = fmt.Errorf("watch: %w", cmp.Or(err, ctx.Err()))
	}()
	return nil
}

func (o *observer) sawBulkhead(e watch.Event) {
	b, ok := e.Object.(*v1alpha1.ServiceBulkhead)
	if !ok {
		return
	}
	key := client.ObjectKeyFromObject(b)
	ready := e.Type != watch.Deleted && isReady(b)
	o.seen.bulkheadWrites++
	o.seen.last = time.Now()
	switch {
	case ready && !o.ready[key]:
		o.seen.ready++
		o.seen.lastReady = o.seen.last
	case !ready && o.ready[key]:
		o.seen.ready--
	}
	o.ready[key] = ready
}

func isReady(b *v1alpha1.ServiceBulkhead) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == b.Generation &&
		b.Status.ObservedGeneration == b.Generation
}

func (o *observer) sawMap(e watch.Event) {
	object, ok := e.Object.(*corev1.ConfigMap)
	if !ok {
		return
	}
	text, ok := object.Data[bulkheadconfig.Key]
	if !ok {
		return
	}
	at := time.Now()
	o.seen.mapWrites++
	o.seen.last, o.seen.lastMap = at, at
	key := client.ObjectKeyFromObject(object)
	want, ok := o.expected[key]
	if !ok {
		return
	}
	doc, err := bulkheadconfig.Decode([]byte(text))
	if err == nil && doc.Services[want.service].Limit == want.limit {
		delete(o.expected, key)
		want.arrived <- at
	}
}

// expect tells when the document of the ConfigMap holds the limit for the bulkhead.
func (o *observer) expect(configMap, bulkhead types.NamespacedName, limit int) <-chan time.Time {
	arrived := make(chan time.Time, 1)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expected[configMap] = expectation{service: bulkhead.Name, limit: limit, arrived: arrived}
	o.doubt(bulkhead)
	return arrived
}

// change is told of a change that is about to be sent.
func (o *observer) change(bulkhead types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.doubt(bulkhead)
}

// doubt no longer takes a bulkhead for Ready: once its change is stored it is not, until
// its status says so.
func (o *observer) doubt(bulkhead types.NamespacedName) {
	if o.ready[bulkhead] {
		o.ready[bulkhead] = false
		o.seen.ready--
	}
}

func (o *observer) now() seen {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen
}

// pollInterval is how often the observer is asked; it costs the API server nothing.
const pollInterval = 2 * time.Millisecond

// await waits until what was seen is as it should be.
func (o *observer) await(ctx context.Context, timeout time.Duration, what string, holds func(seen) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%s: not within %s", what, timeout))
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for !holds(o.now()) {
		if err := o.broken(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%w; seen so far: %+v", context.Cause(ctx), o.now())
		}
	}
	return o.broken()
}

// broken is why nothing more is seen; nil as long as there is no reason.
func (o *observer) broken() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// quiet is how long nothing is written before the operator counts as idle: longer
// than it gathers a burst.
const quiet = 300 * time.Millisecond

func (o *observer) awaitQuiet(ctx context.Context) error {
	return o.await(ctx, time.Minute, "quiet", func(s seen) bool { return time.Since(s.last) > quiet })
}
