// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	// The ConfigMap before the bulkheads: a pass that stands still in between, while
	// another replica takes the lead, must not write its old list over a newer one.
	// The apply names the version seen here, and fails.
	current, err := r.read(ctx, req)
	if err != nil {
		return reconcile.Result{}, err
	}
	bulkheads, err := r.list(ctx, req)
	if err != nil {
		return reconcile.Result{}, err
	}
	verdicts := v1alpha1.Judge(bulkheads, current.services(), current.room())
	desired, err := render(verdicts)
	if err != nil {
		return reconcile.Result{}, err
	}
	todo := decide(current, desired)
	after, err := r.write(ctx, req, current, desired, todo)
	if err != nil && after.obstacle == "" {
		return settle(ctx, err)
	}
	errs := r.report(ctx, verdicts, after)
	if err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return settle(ctx, errs...)
	}
	return recheck(current, todo), nil
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

// blindDelay is how long a ConfigMap without our label is left alone: no event
// tells that what stood in the way is gone.
const blindDelay = time.Minute

// recheck asks for another look where no event would.
func recheck(current observed, done decision) reconcile.Result {
	if done.obstacle != "" && !current.labelled() {
		return reconcile.Result{RequeueAfter: blindDelay}
	}
	return reconcile.Result{}
}
