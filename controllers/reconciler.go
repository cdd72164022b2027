// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// +kubebuilder:rbac:groups=servicebulkhead.io,resources=servicebulkheads,verbs=get;list;watch
// +kubebuilder:rbac:groups=servicebulkhead.io,resources=servicebulkheads/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// reconciler brings one ConfigMap up to date. A request names the ConfigMap.
type reconciler struct {
	client client.Client
	// live reads from the API server: ConfigMaps are cached as metadata only, and
	// what somebody else has just written must not be overlooked.
	live   client.Reader
	events recorder.EventRecorder
	pace   *pace
}

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if wait := r.pace.wait(req.NamespacedName); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	bulkheads, err := r.list(ctx, req)
	if err != nil {
		return reconcile.Result{}, err
	}
	current, err := r.read(ctx, req)
	if err != nil {
		return reconcile.Result{}, err
	}
	verdicts := judge(bulkheads, current.services(), current.room())
	desired, err := render(verdicts)
	if err != nil {
		return reconcile.Result{}, err
	}
	todo := decide(current, desired)
	published, err := r.write(ctx, req, current, desired, todo)
	if err != nil {
		return settle(ctx, err)
	}
	if err := r.report(ctx, verdicts, published, todo.obstacle); err != nil {
		return settle(ctx, err)
	}
	return recheck(todo), nil
}

// list returns the bulkheads that name the ConfigMap.
func (r *reconciler) list(ctx context.Context, req reconcile.Request) ([]v1alpha1.ServiceBulkhead, error) {
	var list v1alpha1.ServiceBulkheadList
	err := r.client.List(ctx, &list,
		client.InNamespace(req.Namespace), client.MatchingFields{configMapNameIndex: req.Name})
	if err != nil {
		return nil, fmt.Errorf("list bulkheads: %w", err)
	}
	return list.Items, nil
}

// read looks at the ConfigMap as it is now.
func (r *reconciler) read(ctx context.Context, req reconcile.Request) (observed, error) {
	var object corev1.ConfigMap
	switch err := r.live.Get(ctx, req.NamespacedName, &object); {
	case apierrors.IsNotFound(err):
		return observe(nil), nil
	case err != nil:
		return observed{}, fmt.Errorf("read ConfigMap: %w", err)
	}
	return observe(&object), nil
}

const (
	// conflictDelay is how long a pass that somebody overtook waits for its next
	// try: long enough for the cache to learn what has happened.
	conflictDelay = time.Second

	// foreignDelay is how long a foreign ConfigMap is left alone. It has no label,
	// so no event tells that it went away.
	foreignDelay = time.Minute
)

// settle tells errors that the world makes from those that need attention. An
// error that it returns is logged, counted and retried with growing delays.
func settle(ctx context.Context, err error) (reconcile.Result, error) {
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), apierrors.IsNotFound(err):
		// The namespace is going or gone, and takes the bulkheads with it.
		log.FromContext(ctx).V(1).Info("gone meanwhile", "cause", err.Error())
		return reconcile.Result{}, nil
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), replaced(err):
		log.FromContext(ctx).V(1).Info("overtaken", "cause", err.Error())
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	}
	return reconcile.Result{}, err
}

// replaced says that the object at hand is not the one that the apply was for,
// as its uid tells. The API server answers with 409 where there is none, and with
// 422 where there is another.
func replaced(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) || status.ErrStatus.Details == nil {
		return false
	}
	return slices.ContainsFunc(status.ErrStatus.Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Field == "metadata.uid"
	})
}

// recheck asks for another look where no event would.
func recheck(done decision) reconcile.Result {
	if done.obstacle == v1alpha1.ReasonConfigMapConflict {
		return reconcile.Result{RequeueAfter: foreignDelay}
	}
	return reconcile.Result{}
}
