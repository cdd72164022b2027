// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// configMapNameIndex is the cache's index of bulkheads by the ConfigMap they
// name, also where they name it by default.
const configMapNameIndex = "configMapName"

func indexConfigMapName(object client.Object) []string {
	if b, ok := object.(*v1alpha1.ServiceBulkhead); ok {
		return []string{b.ConfigMapName()}
	}
	return nil
}

// requestConfigMap maps a bulkhead to the ConfigMap it names.
func requestConfigMap(_ context.Context, object client.Object) []reconcile.Request {
	b, ok := object.(*v1alpha1.ServiceBulkhead)
	if !ok {
		return nil
	}
	return []reconcile.Request{{
		NamespacedName: types.NamespacedName{Namespace: b.Namespace, Name: b.ConfigMapName()},
	}}
}

// bulkheadChanged lets through what can change a document, and not the operator's
// own status patches. A status that somebody edits is therefore put right by the
// next pass over its ConfigMap: at the latest a resync, whose events carry the
// same object twice.
var bulkheadChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	was, now := e.ObjectOld, e.ObjectNew
	return was.GetGeneration() != now.GetGeneration() ||
		was.GetUID() != now.GetUID() || // deleted and created again while nobody watched
		was.GetDeletionTimestamp().IsZero() != now.GetDeletionTimestamp().IsZero() ||
		was.GetResourceVersion() == now.GetResourceVersion()
}}
