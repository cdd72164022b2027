// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// Nothing here is to spare: a test takes each verb away in turn, and something fails.
// Events are only ever created, because no two of the operator's are about the same
// version of an object, and only those would be counted together with a patch.
//
// +kubebuilder:rbac:groups=servicebulkhead.io,resources=servicebulkheads,verbs=list;watch
// +kubebuilder:rbac:groups=servicebulkhead.io,resources=servicebulkheads/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// reconciler brings one ConfigMap up to date. A request names the ConfigMap.
type reconciler struct {
	client client.Client
	// live reads from the API server: ConfigMaps are cached as metadata only, and
	// what somebody else has just written must not be overlooked.
	live     client.Reader
	events   recorder.EventRecorder
	pace     *pace
	arrivals *arrivals
	// followers are told what each ConfigMap holds.
	followers followers
}

// pass is one look at a ConfigMap and what came of it, as far as it went.
type pass struct {
	current  observed
	verdicts []v1alpha1.Verdict
	desired  rendered
	todo     decision
	after    outcome
}

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if wait := r.pace.wait(req.NamespacedName); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	arrived := r.arrivals.take(req.NamespacedName)
	p, errs := r.pass(ctx, req)
	r.measure(req.NamespacedName, p, errs, arrived)
	if len(errs) > 0 {
		return settle(ctx, errs...)
	}
	return recheck(p.current, p.todo), nil
}

// pass brings the ConfigMap and the statuses up to date.
func (r *reconciler) pass(ctx context.Context, req reconcile.Request) (p pass, errs []error) {
	// The ConfigMap before the bulkheads: a pass that stands still in between, while
	// another replica takes the lead, must not write its old list over a newer one.
	// The apply names the version seen here, and fails.
	var err error
	if p.current, err = r.read(ctx, req); err != nil {
		return p, []error{err}
	}
	bulkheads, err := r.list(ctx, req)
	if err != nil {
		return p, []error{err}
	}
	p.verdicts = v1alpha1.Judge(bulkheads, p.current.services(), p.current.room())
	if p.desired, err = render(p.verdicts); err != nil {
		return p, []error{err}
	}
	p.todo = decide(p.current, p.desired)
	p.after, err = r.write(ctx, req, p.current, p.desired, p.todo)
	r.tell(req.NamespacedName, p)
	if err != nil && p.after.obstacle == "" {
		return p, []error{err}
	}
	errs = r.report(ctx, p.verdicts, p.after)
	if err != nil {
		errs = append(errs, err)
	}
	return p, errs
}

// measure tells the metrics about a pass. A change that is still to be written goes
// on waiting since it arrived.
func (r *reconciler) measure(key types.NamespacedName, p pass, errs []error, arrived time.Time) {
	reconciles.WithLabelValues(string(outcomeOf(p, errs))).Inc()
	switch {
	case p.after.wrote && !arrived.IsZero():
		publishDuration.Observe(time.Since(arrived).Seconds())
	case len(errs) > 0 && p.after.obstacle == "" && !arrived.IsZero():
		r.arrivals.note(key, arrived)
	}
	if len(errs) == 0 || p.after.obstacle != "" {
		population.note(key, recordOf(p))
	}
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
