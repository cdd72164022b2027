// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

func TestSettle(t *testing.T) {
	maps := schema.GroupResource{Resource: "configmaps"}
	terminating := apierrors.NewForbidden(maps, "service-bulkheads", errors.New("being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	configMaps := schema.GroupKind{Kind: "ConfigMap"}
	otherUID := field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), "1", "field is immutable")}
	tooLong := field.ErrorList{field.TooLong(field.NewPath("data"), "", 1)}
	tests := map[string]struct {
		err   error
		quiet bool
		after time.Duration
	}{
		"terminating namespace": {terminating, true, 0},
		"namespace gone":        {apierrors.NewNotFound(maps, "service-bulkheads"), true, 0},
		"overtaken":             {apierrors.NewConflict(maps, "service-bulkheads", errors.New("uid")), true, conflictDelay},
		"created meanwhile":     {apierrors.NewAlreadyExists(maps, "service-bulkheads"), true, conflictDelay},
		"not allowed":           {apierrors.NewForbidden(maps, "service-bulkheads", errors.New("quota")), false, 0},
		"replaced meanwhile":    {apierrors.NewInvalid(configMaps, "service-bulkheads", otherUID), true, conflictDelay},
		"refused":               {apierrors.NewInvalid(configMaps, "service-bulkheads", tooLong), false, 0},
		"server away":           {apierrors.NewGenericServerResponse(http.StatusBadGateway, "get", maps, "", "", 0, false), false, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result, err := settle(t.Context(), fmt.Errorf("write: %w", test.err))
			if (err == nil) != test.quiet || result.RequeueAfter != test.after {
				t.Errorf("got %+v, %v", result, err)
			}
		})
	}
}

// TestOnlyAForeignMapIsLookedAtAgain: nothing else requeues without a cause.
func TestOnlyAForeignMapIsLookedAtAgain(t *testing.T) {
	for obstacle, want := range map[string]time.Duration{
		"":                                0,
		v1alpha1.ReasonConfigMapImmutable: 0,
		v1alpha1.ReasonConfigMapConflict:  foreignDelay,
	} {
		if got := recheck(decision{obstacle: obstacle}).RequeueAfter; got != want {
			t.Errorf("%q: got %s, want %s", obstacle, got, want)
		}
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
