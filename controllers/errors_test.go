// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
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

// TestSettleTakesTheWorst: what needs attention is not lost among what passes.
func TestSettleTakesTheWorst(t *testing.T) {
	bulkheads := schema.GroupResource{Resource: "servicebulkheads"}
	conflict := apierrors.NewConflict(bulkheads, "payments", errors.New("modified"))
	forbidden := apierrors.NewForbidden(bulkheads, "search", errors.New("policy"))
	for _, errs := range [][]error{{conflict, forbidden}, {forbidden, conflict}} {
		result, err := settle(t.Context(), errs...)
		if !errors.Is(err, forbidden) || errors.Is(err, conflict) || !result.IsZero() {
			t.Errorf("got %+v, %v", result, err)
		}
	}
	gone := apierrors.NewNotFound(bulkheads, "search")
	if result, err := settle(t.Context(), conflict, gone); err != nil || result.RequeueAfter != conflictDelay {
		t.Errorf("got %+v, %v, want another try in %s", result, err, conflictDelay)
	}
}

// TestSettleAtTheEnd: a process that ends does not complain that it could not finish.
func TestSettleAtTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if result, err := settle(ctx, fmt.Errorf("read ConfigMap: %w", context.Canceled)); err != nil || !result.IsZero() {
		t.Errorf("got %+v, %v", result, err)
	}
	if _, err := settle(t.Context(), fmt.Errorf("read ConfigMap: %w", context.Canceled)); err == nil {
		t.Error("cut off by somebody else: got no error")
	}
}

func TestRefused(t *testing.T) {
	maps, configMaps := schema.GroupResource{Resource: "configmaps"}, schema.GroupKind{Kind: "ConfigMap"}
	terminating := apierrors.NewForbidden(maps, "m", errors.New("being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	otherUID := field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), "1", "field is immutable")}
	for err, want := range map[error]bool{
		apierrors.NewForbidden(maps, "m", errors.New("quota")):   true,
		apierrors.NewInvalid(configMaps, "m", nil):               true,
		apierrors.NewBadRequest("webhook"):                       true,
		terminating:                                              false,
		apierrors.NewInvalid(configMaps, "m", otherUID):          false,
		apierrors.NewUnauthorized("expired"):                     false,
		apierrors.NewTooManyRequests("later", 1):                 false,
		apierrors.NewConflict(maps, "m", errors.New("modified")): false,
		apierrors.NewServiceUnavailable("starting"):              false,
		errors.New("connection refused"):                         false,
	} {
		if got := refused(fmt.Errorf("write: %w", err)); got != want {
			t.Errorf("%v: got %t, want %t", err, got, want)
		}
	}
}
