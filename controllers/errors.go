// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/servicebulkhead/servicebulkhead/controllers/internal/answer"
)

// conflictDelay is how long a pass that somebody overtook waits for its next try:
// long enough for the cache to learn what has happened.
const conflictDelay = time.Second

// settle tells errors that the world makes from those that need attention. What it
// returns is logged, counted and retried with growing delays; one error that needs
// attention is enough for that, whatever else there is. Of a pass that the process's
// own end cut short nothing needs attention: the next process begins with it.
func settle(ctx context.Context, errs ...error) (reconcile.Result, error) {
	var result reconcile.Result
	var serious []error
	for _, err := range errs {
		switch {
		case err == nil:
		case ctx.Err() != nil:
			log.FromContext(ctx).V(1).Info("cut short", "cause", err.Error())
		case answer.Gone(err):
			log.FromContext(ctx).V(1).Info("gone meanwhile", "cause", err.Error())
		case overtaken(err):
			log.FromContext(ctx).V(1).Info("overtaken", "cause", err.Error())
			result.RequeueAfter = conflictDelay
		default:
			serious = append(serious, err)
		}
	}
	if len(serious) > 0 {
		return reconcile.Result{}, errors.Join(serious...)
	}
	return result, nil
}

// overtaken says that somebody else wrote the object since we looked.
func overtaken(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || answer.Replaced(err)
}

// refused says that the API server understood what was asked of it and will not do
// it: a quota, an admission policy, a webhook or a missing right forbids it.
func refused(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || answer.Gone(err) || overtaken(err) {
		return false
	}
	switch status.ErrStatus.Code {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return true
	}
	return false
}

// refusal is what the API server said.
func refusal(err error) string {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return note(status.ErrStatus.Message)
	}
	return note(err.Error())
}
