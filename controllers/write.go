// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// outcome is what a pass leaves behind.
type outcome struct {
	// published is what pods read from now on.
	published services
	// wrote says that this pass put it there.
	wrote bool
	// obstacle says why that is not what was decided: a reason of the condition
	// Ready.
	obstacle string
	// refusal is what the API server said, where that is the obstacle; taken says that
	// our key among the binary data is.
	refusal string
	taken   bool
}

// write carries a decision out. Where the API server refuses, both the outcome and
// the error count: the statuses can tell, and the write is to be tried again.
func (r *reconciler) write(ctx context.Context, req reconcile.Request, current observed, desired rendered,
	todo decision,
) (outcome, error) {
	before := outcome{published: current.services(), obstacle: todo.obstacle, taken: current.taken()}
	if todo.write == "" {
		return before, nil
	}
	if err := r.put(ctx, req.NamespacedName, current, desired); err != nil {
		countConflict(kindConfigMap, err)
		if refused(err) {
			before.obstacle, before.refusal = v1alpha1.ReasonConfigMapRefused, refusal(err)
		}
		return before, err
	}
	r.pace.wrote(req.NamespacedName)
	configMapWrites.WithLabelValues(string(todo.write)).Inc()
	log.FromContext(ctx).Info("wrote ConfigMap", "reason", todo.write, "revision", desired.revision,
		"services", len(desired.services))
	if todo.write.drift() {
		r.events.Eventf(current.object, nil, corev1.EventTypeWarning, eventRestored, actionRestore,
			"%s", note(driftNote(todo.write, current, desired)))
	}
	return outcome{published: desired.services, wrote: true}, nil
}

// put creates the ConfigMap or updates it. Only a create is sure not to merge
// into a ConfigMap that somebody else made meanwhile; and an apply that carries
// the uid and the resourceVersion of the one we looked at is sure to meet just
// that. So a replica that stood still while another took the lead cannot put an
// older document in the place of a newer.
func (r *reconciler) put(ctx context.Context, key types.NamespacedName, current observed, desired rendered) error {
	labels := map[string]string{ManagedLabel: managedValue}
	data := map[string]string{bulkheadconfig.Key: desired.text}
	if !current.exists() {
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: labels},
			Data:       data,
		}
		if err := r.client.Create(ctx, object, client.FieldOwner(FieldOwner)); err != nil {
			return fmt.Errorf("create ConfigMap: %w", err)
		}
		return nil
	}
	object := corev1ac.ConfigMap(key.Name, key.Namespace).WithUID(current.object.UID).
		WithResourceVersion(current.object.ResourceVersion).WithLabels(labels).WithData(data)
	if err := r.client.Apply(ctx, object, client.FieldOwner(FieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply ConfigMap: %w", err)
	}
	return nil
}

const (
	eventRestored = "Restored"
	actionRestore = "Restore"
)

// driftNote tells what somebody else had done to the ConfigMap, and who.
func driftNote(reason writeReason, current observed, desired rendered) string {
	switch reason {
	case writeKeyMissing:
		return fmt.Sprintf("put back %s, which was missing", bulkheadconfig.Key)
	case writeUnlabelled:
		return fmt.Sprintf("put back the label %s, which was missing", ManagedLabel)
	}
	who := strings.Join(current.writers(), ", ")
	if who == "" {
		who = "somebody else"
	}
	note := fmt.Sprintf("put back %s, which %s had changed", bulkheadconfig.Key, who)
	if len(desired.altered) > 0 {
		note += "; but not the last accepted values of " + strings.Join(desired.altered, ", ") + ", which are lost"
	}
	return note
}
