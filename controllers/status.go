// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/controllers/internal/answer"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// report patches the statuses that changed. One that somebody deleted, overtook or
// forbids does not keep the others waiting; but an API server that does not answer
// would not answer for them either.
func (r *reconciler) report(ctx context.Context, verdicts []v1alpha1.Verdict, after outcome) []error {
	var errs []error
	for _, v := range verdicts {
		err := r.reportOne(ctx, v, nextStatus(v, after))
		countConflict(kindBulkhead, err)
		if err == nil || answer.Gone(err) {
			continue
		}
		errs = append(errs, err)
		if !overtaken(err) && !refused(err) {
			break
		}
	}
	return errs
}

// reportOne sends only the fields that differ, so that what a newer version of
// the operator has put beside them survives; and the resourceVersion, because the
// differences are to the object that the cache showed.
func (r *reconciler) reportOne(ctx context.Context, v v1alpha1.Verdict, next v1alpha1.ServiceBulkheadStatus) error {
	before := v.Bulkhead
	if equality.Semantic.DeepEqual(before.Status, next) {
		return nil
	}
	after := before.DeepCopy()
	after.Status = next
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, after, patch, client.FieldOwner(FieldOwner)); err != nil {
		return fmt.Errorf("patch status of ServiceBulkhead %s: %w", before.Name, err)
	}
	statusWrites.Inc()
	r.announce(v, next)
	return nil
}

// announce emits an event when the reason of Ready has changed, and when it has
// become known that somebody altered an entry which cannot be restored.
func (r *reconciler) announce(v v1alpha1.Verdict, next v1alpha1.ServiceBulkheadStatus) {
	now := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady)
	was := meta.FindStatusCondition(v.Bulkhead.Status.Conditions, v1alpha1.ConditionReady)
	if was != nil && was.Reason == now.Reason && (!v.Altered || was.Message == now.Message) {
		return
	}
	kind := corev1.EventTypeNormal
	if now.Status != metav1.ConditionTrue {
		kind = corev1.EventTypeWarning
	}
	r.events.Eventf(v.Bulkhead, nil, kind, now.Reason, actionPublish, "%s", note(now.Message))
}

const actionPublish = "Publish"

// maxNote is how many bytes the API server allows the note of an event to have; it
// refuses an event whose note is longer.
const maxNote = 1024

// note shortens a text to what an event can carry. Other people's words, in a
// refusal, are no longer in a condition either.
func note(text string) string {
	if len(text) <= maxNote {
		return text
	}
	return strings.ToValidUTF8(text[:maxNote-len("…")], "") + "…"
}

// nextStatus is the status that a bulkhead should have. Conditions of other
// types stay as they are.
func nextStatus(v v1alpha1.Verdict, after outcome) v1alpha1.ServiceBulkheadStatus {
	next := *v.Bulkhead.Status.DeepCopy()
	next.ObservedGeneration = v.Bulkhead.Generation
	next.Service = v.Bulkhead.Service()
	if !v.Altered {
		next.ConfigMapRef = publishedAt(v, after.published)
	}
	for _, condition := range conditions(v, after) {
		condition.ObservedGeneration = v.Bulkhead.Generation
		meta.SetStatusCondition(&next.Conditions, condition)
	}
	if meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionReady) {
		meta.RemoveStatusCondition(&next.Conditions, v1alpha1.ConditionStalled)
	}
	return next
}

// publishedAt says where pods read the bulkhead; nil means nowhere. Where an
// obstacle keeps the new values out, that is still where the old ones stand.
func publishedAt(v v1alpha1.Verdict, published services) *v1alpha1.ConfigMapRef {
	entry, ok := published[v.Bulkhead.Service()]
	if !ok || v.Entry == nil {
		return nil
	}
	return &v1alpha1.ConfigMapRef{Name: v.Bulkhead.ConfigMapName(), Revision: entry.Revision()}
}

// conditions are Accepted, Ready and, where it is not ready, Stalled: everything
// that keeps a bulkhead from being ready needs a person. What passes by itself,
// such as an API server that is away, writes no status at all.
func conditions(v v1alpha1.Verdict, after outcome) []metav1.Condition {
	accepted := metav1.Condition{
		Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: v.Reason, Message: v.Message,
	}
	ready := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPublished,
		Message: publishedMessage(v),
	}
	switch entry, ok := after.published[v.Bulkhead.Service()]; {
	case !v.Accepted():
		accepted.Status, ready.Status = metav1.ConditionFalse, metav1.ConditionFalse
		ready.Reason, ready.Message = v.Reason, v.Message
	case !ok || entry.Revision() != v.Entry.Revision():
		ready.Status = metav1.ConditionFalse
		ready.Reason, ready.Message = after.obstacle, obstacleMessage(after, v.Bulkhead.ConfigMapName())
	default:
		return []metav1.Condition{accepted, ready}
	}
	stalled := ready
	stalled.Type, stalled.Status = v1alpha1.ConditionStalled, metav1.ConditionTrue
	return []metav1.Condition{accepted, ready, stalled}
}

// publishedMessage says also when the bulkhead protects nobody yet.
func publishedMessage(v v1alpha1.Verdict) string {
	shadow := ""
	if v.Entry != nil && v.Entry.Enforcement == bulkheadconfig.Shadow {
		shadow = ", in Shadow: every call is admitted"
	}
	return fmt.Sprintf("in ConfigMap %s%s; pods that mount it follow within 90s", v.Bulkhead.ConfigMapName(), shadow)
}

func obstacleMessage(after outcome, configMap string) string {
	switch after.obstacle {
	case v1alpha1.ReasonConfigMapImmutable:
		return fmt.Sprintf("ConfigMap %s is immutable: delete it, and it is created again with the present values", configMap)
	case v1alpha1.ReasonConfigMapRefused:
		return fmt.Sprintf("the API server refuses to write ConfigMap %s: %s", configMap, after.refusal)
	}
	if after.taken {
		return fmt.Sprintf("ConfigMap %s has %s among its binaryData, where no document can be: remove it there", configMap, bulkheadconfig.Key)
	}
	return fmt.Sprintf("ConfigMap %s exists and is not the operator's: delete or rename it, "+
		"or hand it over with the label %s=%s", configMap, ManagedLabel, managedValue)
}
