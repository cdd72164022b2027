// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package answer tells what the API server means by its errors, for the parts of the
// operator that write.
//
//	if err := c.Patch(ctx, object, patch); answer.Gone(err) {
//		return nil // somebody deleted it meanwhile
//	}
//
// It decides nothing about what to do then.
package answer

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Gone says that the object is there no more, or that its namespace is going and
// takes everything in it along.
func Gone(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// Replaced says that the object at hand is not the one that the write was for, as the
// uid in it tells. The API server answers with 409 where there is none (see Gone and
// apierrors.IsConflict), and with 422 where there is another.
func Replaced(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) || status.ErrStatus.Details == nil {
		return false
	}
	return slices.ContainsFunc(status.ErrStatus.Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Field == "metadata.uid"
	})
}
