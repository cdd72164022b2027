// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// document is the ConfigMap of a namespace's bulkheads.
func document(ctx context.Context, namespace string) *corev1.ConfigMap {
	GinkgoHelper()
	var m corev1.ConfigMap
	Expect(cluster.client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: v1alpha1.DefaultConfigMapName}, &m)).To(Succeed())
	return &m
}

// restored says what is not as it was.
func restored(ctx context.Context, namespace string, before *corev1.ConfigMap) error {
	var now corev1.ConfigMap
	if err := cluster.client.Get(ctx, client.ObjectKeyFromObject(before), &now); err != nil {
		return err
	}
	if now.Data[bulkheadconfig.Key] != before.Data[bulkheadconfig.Key] {
		return fmt.Errorf("the document of %s is\n%s\nwas\n%s", namespace, now.Data[bulkheadconfig.Key], before.Data[bulkheadconfig.Key])
	}
	return nil
}

// versionsOf watches a ConfigMap from here on; the function that it returns ends
// that, and tells the versions that there were since.
func versionsOf(ctx context.Context, m *corev1.ConfigMap) (stop func() []string) {
	GinkgoHelper()
	watcher, err := cluster.client.Watch(ctx, &corev1.ConfigMapList{}, &client.ListOptions{
		Namespace: m.Namespace, FieldSelector: fields.OneTermEqualSelector("metadata.name", m.Name),
		Raw: &metav1.ListOptions{ResourceVersion: m.ResourceVersion},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(watcher.Stop)
	var versions []string
	var all sync.WaitGroup
	all.Go(func() {
		for event := range watcher.ResultChan() {
			if now, ok := event.Object.(*corev1.ConfigMap); ok && event.Type == watch.Modified {
				versions = append(versions, now.ResourceVersion)
			}
		}
	})
	return func() []string {
		watcher.Stop()
		all.Wait()
		return versions
	}
}

// events are those of a namespace that have this reason.
func events(ctx context.Context, namespace, reason string) ([]eventsv1.Event, error) {
	var all eventsv1.EventList
	if err := cluster.client.List(ctx, &all, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var some []eventsv1.Event
	for _, event := range all.Items {
		if event.Reason == reason {
			some = append(some, event)
		}
	}
	return some, nil
}
