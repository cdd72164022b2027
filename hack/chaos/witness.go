// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/controllers"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// witness looks at every version of every document that the operator writes.
type witness struct {
	admin   client.WithWatch
	stirrer *stirrer

	mu       sync.Mutex
	versions int
	written  chan struct{} // closed and replaced with every version
	stay     map[types.NamespacedName]bool
	faults   []string
}

// newWitness knows which services stay for ever once they are in a document, by
// namespace.
func newWitness(admin client.WithWatch, s *stirrer) *witness {
	w := &witness{admin: admin, stirrer: s, written: make(chan struct{}), stay: map[types.NamespacedName]bool{}}
	for n := range namespaceCount {
		for m := range mapCount {
			w.stay[types.NamespacedName{Namespace: namespaceOf(n), Name: newRole(n, m, 0, false).service}] = false
		}
		w.stay[types.NamespacedName{Namespace: namespaceOf(n), Name: keptService}] = false
	}
	return w
}

// run watches until ctx ends, through every fault of the API server.
func (w *witness) run(ctx context.Context) {
	for ctx.Err() == nil {
		_ = w.watch(ctx) // the faults are ours: the next try will do
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// watch looks at all documents, and then at every change, until the watch breaks.
func (w *witness) watch(ctx context.Context) error {
	var list corev1.ConfigMapList
	if err := w.admin.List(ctx, &list); err != nil {
		return err
	}
	for i := range list.Items {
		w.look(&list.Items[i])
	}
	watcher, err := w.admin.Watch(ctx, &corev1.ConfigMapList{},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for e := range watcher.ResultChan() {
		if object, ok := e.Object.(*corev1.ConfigMap); ok && e.Type != watch.Deleted {
			w.look(object)
		}
	}
	return errors.New("the watch ended")
}

// look judges one version, unless a person wrote it.
func (w *witness) look(object *corev1.ConfigMap) {
	text, ok := object.Data[bulkheadconfig.Key]
	if !ok || !strings.HasPrefix(object.Namespace, "chaos-") || !byOperator(object) {
		return
	}
	faults := w.judge(object, text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.versions++
	w.faults = append(w.faults, faults...)
	close(w.written)
	w.written = make(chan struct{})
}

// byOperator says whether the present text is the operator's.
func byOperator(object *corev1.ConfigMap) bool {
	for _, entry := range object.ManagedFields {
		owned := entry.FieldsV1 != nil && bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:`+bulkheadconfig.Key+`"`))
		if owned && entry.Manager == controllers.FieldOwner {
			return true
		}
	}
	return false
}

// judge says what is wrong with a version.
func (w *witness) judge(object *corev1.ConfigMap, text string) (faults []string) {
	where := fmt.Sprintf("%s/%s at version %s", object.Namespace, object.Name, object.ResourceVersion)
	doc, err := bulkheadconfig.Decode([]byte(text))
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", where, err)}
	}
	for service, entry := range doc.Services {
		if !w.stirrer.legal(object.Namespace, service, entry) {
			faults = append(faults, fmt.Sprintf("%s: nobody declared %s: %+v", where, service, entry))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, seen := range w.stay {
		if key.Namespace != object.Namespace || mapOfService(key.Name) != object.Name {
			continue
		}
		_, there := doc.Services[key.Name]
		if seen && !there {
			faults = append(faults, fmt.Sprintf("%s: %s is lost", where, key.Name))
		}
		w.stay[key] = seen || there
	}
	return faults
}

// mapOfService names the ConfigMap that a service is in: m1-s3 is in m1-bulkheads.
func mapOfService(service string) string {
	prefix, _, _ := strings.Cut(service, "-")
	return prefix + "-bulkheads"
}

// next is closed when the operator writes another version.
func (w *witness) next() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.written
}

func (w *witness) result() (versions int, faults []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.versions, w.faults
}
