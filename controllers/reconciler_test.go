// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// TestOnlyWhatNoEventTellsIsLookedAtAgain: nothing else requeues without a cause.
func TestOnlyWhatNoEventTellsIsLookedAtAgain(t *testing.T) {
	labelled, unlabelled := configMap(t, "{}"), configMap(t, "{}")
	unlabelled.Labels = nil
	tests := map[string]struct {
		object   *corev1.ConfigMap
		obstacle string
		want     time.Duration
	}{
		"fine":                  {labelled, "", 0},
		"none":                  {nil, "", 0},
		"immutable":             {labelled, v1alpha1.ReasonConfigMapImmutable, 0},
		"immutable, unlabelled": {unlabelled, v1alpha1.ReasonConfigMapImmutable, blindDelay},
		"foreign":               {unlabelled, v1alpha1.ReasonConfigMapConflict, blindDelay},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := recheck(observe(test.object), decision{obstacle: test.obstacle}).RequeueAfter; got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestBulkheadChanged(t *testing.T) {
	was := bulkhead("payments")
	was.UID, was.ResourceVersion = "1", "1"
	tests := map[string]struct {
		change option
		want   bool
	}{
		"status only":        {func(b *v1alpha1.ServiceBulkhead) { b.Status.Service = "payments" }, false},
		"labels only":        {func(b *v1alpha1.ServiceBulkhead) { b.Labels = map[string]string{"a": "b"} }, false},
		"spec":               {func(b *v1alpha1.ServiceBulkhead) { b.Generation++ }, true},
		"created anew":       {func(b *v1alpha1.ServiceBulkhead) { b.UID = "2" }, true},
		"deletion asked for": {deleting, true},
		"resync":             {func(b *v1alpha1.ServiceBulkhead) { b.ResourceVersion = "1" }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			now := was.DeepCopy()
			now.ResourceVersion = "2"
			test.change(now)
			if got := bulkheadChanged.Update(event.UpdateEvent{ObjectOld: &was, ObjectNew: now}); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

func TestRequestNamesTheConfigMap(t *testing.T) {
	b := bulkhead("payments")
	if got := requestConfigMap(t.Context(), &b); len(got) != 1 || got[0].String() != "shop/service-bulkheads" {
		t.Errorf("got %v", got)
	}
	b.Spec.ConfigMapName = "checkout-bulkheads"
	if got := requestConfigMap(t.Context(), &b); len(got) != 1 || got[0].String() != "shop/checkout-bulkheads" {
		t.Errorf("got %v", got)
	}
	if got := indexConfigMapName(&b); len(got) != 1 || got[0] != "checkout-bulkheads" {
		t.Errorf("index: got %v", got)
	}
}
