// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// fakePods is a cluster with nothing but pods, on the clock of the test.
type fakePods struct {
	mu      sync.Mutex
	pods    map[string]*corev1.Pod // by name; all in one namespace
	changed func(types.NamespacedName)
	written []write
	told    []string
	looks   int

	// lag is how much later than the API server the cache knows.
	lag time.Duration
	// latency is how long a write takes, and answer what comes of it; nil is fine.
	latency time.Duration
	answer  func(j job) error
	// listing is what comes of a list; nil is fine.
	listing error
	// sync is how long it takes until all pods are known.
	sync time.Duration
}

// write is one nudge that the API server saw.
type write struct {
	at time.Time
	job
}

func newFake(pods ...*corev1.Pod) *fakePods {
	f := &fakePods{pods: map[string]*corev1.Pod{}, latency: 5 * time.Millisecond, lag: 10 * time.Millisecond}
	for _, pod := range pods {
		f.pods[pod.Name] = pod
	}
	return f
}

func (f *fakePods) run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (f *fakePods) open(ctx context.Context, changed func(types.NamespacedName)) error {
	f.changed = changed
	select {
	case <-time.After(f.sync):
	case <-ctx.Done():
	}
	return nil
}

func (f *fakePods) mounting(_ context.Context, configMap types.NamespacedName) (found []corev1.Pod, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	for _, pod := range f.pods {
		if _, yes := mountsOf(pod)[configMap.Name]; yes && pod.Namespace == configMap.Namespace {
			found = append(found, *pod)
		}
	}
	return found, f.listing
}

func (f *fakePods) all(context.Context) (found []corev1.Pod, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, pod := range f.pods {
		found = append(found, *pod)
	}
	return found, nil
}

func (f *fakePods) get(_ context.Context, _ string, pod target) (*corev1.Pod, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if found := f.pods[pod.name]; found != nil && found.UID == pod.uid {
		return found.DeepCopy(), nil
	}
	return nil, nil
}

func (f *fakePods) annotate(ctx context.Context, j job) error {
	select {
	case <-time.After(f.latency):
	case <-ctx.Done():
		return ctx.Err()
	}
	f.mu.Lock()
	f.written = append(f.written, write{time.Now(), j})
	f.mu.Unlock()
	if f.answer != nil {
		if err := f.answer(j); err != nil {
			return err
		}
	}
	go func() {
		<-time.After(f.lag)
		f.change(j.pod.name, func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{Annotation(j.configMap.Name): j.doc.Revision}
		})
	}()
	return nil
}

func (f *fakePods) tell(_ context.Context, configMap types.NamespacedName, pod target) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, configMap.Name+" "+pod.name)
	return nil
}

// change replaces a pod in the cache.
func (f *fakePods) change(name string, how option) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if pod := f.pods[name]; pod != nil {
		pod = pod.DeepCopy()
		how(pod)
		f.pods[name] = pod
	}
}

// take returns the writes since it was called last.
func (f *fakePods) take() []write {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer func() { f.written = nil }()
	return slices.Clone(f.written)
}

// errCut is what a test says that wants the API server to fail.
var errCut = errors.New("connection refused")

// rig is a Nudger at work in a bubble of its own time.
type rig struct {
	*Nudger
	pods *fakePods
	stop func()

	mu    sync.Mutex
	lines []string
}

// withRig runs a test on a clock that stands still while anybody works.
func withRig(t *testing.T, pods *fakePods, rate float64, test func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{pods: pods}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		r.Nudger = newNudger(pods, rate, funcr.New(r.line, funcr.Options{Verbosity: 0}))
		r.stop = sync.OnceFunc(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		go func() { done <- r.Start(ctx) }()
		synctest.Wait()
		test(t, r)
		r.stop()
		after(pods.lag) // what the cache is yet to learn
	})
}

func (r *rig) line(_, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, text)
}

func (r *rig) log() []string { r.mu.Lock(); defer r.mu.Unlock(); return slices.Clone(r.lines) }

// publish says that the ConfigMap holds the n-th document as of now.
func (r *rig) publish(n int) {
	r.Published(configMap, Document{Revision: revision(n), Written: time.Now()})
}

// after lets so much time pass, and everything that happens in it.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
