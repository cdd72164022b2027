// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestAnswers(t *testing.T) {
	maps := schema.GroupResource{Resource: "configmaps"}
	going := apierrors.NewForbidden(maps, "m", errors.New("going"))
	going.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	invalid := func(path string) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "m",
			field.ErrorList{field.Invalid(field.NewPath(path), "x", "field is immutable")})
	}
	tests := map[string]struct {
		err            error
		gone, replaced bool
	}{
		"none":                {nil, false, false},
		"no such object":      {apierrors.NewNotFound(maps, "m"), true, false},
		"wrapped":             {fmt.Errorf("patch: %w", apierrors.NewNotFound(maps, "m")), true, false},
		"namespace going":     {going, true, false},
		"another of its name": {invalid("metadata.uid"), false, true},
		"another, wrapped":    {fmt.Errorf("patch: %w", invalid("metadata.uid")), false, true},
		"invalid":             {invalid("data"), false, false},
		"invalid, no details": {&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid}}, false, false},
		"conflict":            {apierrors.NewConflict(maps, "m", errors.New("modified")), false, false},
		"no answer":           {errors.New("connection refused"), false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Gone(test.err); got != test.gone {
				t.Errorf("gone: %t", got)
			}
			if got := Replaced(test.err); got != test.replaced {
				t.Errorf("replaced: %t", got)
			}
		})
	}
}
