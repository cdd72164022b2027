// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestPodsAreNotKnownBeforeTheirCacheRuns: of open and run, either may come first.
func TestPodsAreNotKnownBeforeTheirCacheRuns(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	for name, namespaces := range map[string]map[string]cache.Config{"all": nil, "some": {"shop": {}, "bank": {}}} {
		t.Run(name, func(t *testing.T) {
			pods, err := cache.New(&rest.Config{Host: "127.0.0.1:1"}, cache.Options{
				Scheme: clientgoscheme.Scheme, Mapper: mapper, DefaultNamespaces: namespaces,
				ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: asking},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := (&cluster{cache: pods}).open(ctx, func(types.NamespacedName) {}); err == nil {
				t.Error("all pods are known, it says")
			}
		})
	}
}
