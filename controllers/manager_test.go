// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

func TestCacheIsSmall(t *testing.T) {
	options := ManagerOptions(Options{Namespaces: []string{"shop", "billing"}}).Cache
	if got := len(options.DefaultNamespaces); got != 2 {
		t.Errorf("watches %d namespaces, want 2", got)
	}
	if *options.SyncPeriod != DefaultResync {
		t.Errorf("resync every %s, want %s", *options.SyncPeriod, DefaultResync)
	}
	var maps, bulkheads cache.ByObject
	for object, by := range options.ByObject {
		switch object.(type) {
		case *corev1.ConfigMap:
			maps = by
		case *v1alpha1.ServiceBulkhead:
			bulkheads = by
		}
	}
	if got := maps.Label.String(); got != "servicebulkhead.io/managed=true" {
		t.Errorf("caches the ConfigMaps with %q", got)
	}
	giant := metav1.ObjectMeta{
		Name: "service-bulkheads", ResourceVersion: "1",
		Annotations: map[string]string{"theirs": "much"}, Labels: map[string]string{"theirs": "many"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}
	small := metav1.ObjectMeta{Name: giant.Name, ResourceVersion: "1"}
	configMap, bulkhead := &metav1.PartialObjectMetadata{ObjectMeta: giant}, &v1alpha1.ServiceBulkhead{ObjectMeta: giant}
	for _, got := range []*metav1.ObjectMeta{&configMap.ObjectMeta, &bulkhead.ObjectMeta} {
		transform, object := maps.Transform, any(configMap)
		if got == &bulkhead.ObjectMeta {
			transform, object = bulkheads.Transform, any(bulkhead)
		}
		if _, err := transform(object); err != nil {
			t.Fatal(err)
		}
		if !equality.Semantic.DeepEqual(*got, small) {
			t.Errorf("caches %+v", *got)
		}
	}
}

func TestRetriesAreNeverFarApart(t *testing.T) {
	limiter, request := newRateLimiter(), reconcile.Request{}
	if got := limiter.When(request); got != retryFirst {
		t.Errorf("the first try comes after %s, want %s", got, retryFirst)
	}
	for range 100 {
		limiter.When(request)
	}
	if got, want := limiter.When(request), 30*time.Second; got != want {
		t.Errorf("after many tries the next comes after %s, want %s", got, want)
	}
}

func TestManagerWatchesAllNamespacesByDefault(t *testing.T) {
	if got := ManagerOptions(Options{}).Cache.DefaultNamespaces; got != nil {
		t.Errorf("watches only %v", got)
	}
}

// TestShutdownFitsTheGracePeriod: the operator gives up on what hangs before the
// kubelet gives up on the operator.
func TestShutdownFitsTheGracePeriod(t *testing.T) {
	text, err := os.ReadFile("../config/manager/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	if err := yaml.Unmarshal(text, &deployment); err != nil {
		t.Fatal(err)
	}
	grace := time.Duration(*deployment.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second
	if got := *ManagerOptions(Options{}).GracefulShutdownTimeout; grace-got < 5*time.Second {
		t.Errorf("gives up after %s, the kubelet after %s", got, grace)
	}
}
