// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// epoch is when the fixtures were created, give or take.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const roomy = bulkheadconfig.MaxBytes

// option changes a fixture.
type option func(*v1alpha1.ServiceBulkhead)

// bulkhead is a valid one: limit 25, reclaimed after 30 s.
func bulkhead(name string, options ...option) v1alpha1.ServiceBulkhead {
	b := v1alpha1.ServiceBulkhead{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, Generation: 1, CreationTimestamp: metav1.NewTime(epoch),
		},
		Spec: v1alpha1.ServiceBulkheadSpec{Limit: new(int32(25)), ReclaimAfter: "30s"},
	}
	for _, option := range options {
		option(&b)
	}
	return b
}

func service(name string) option {
	return func(b *v1alpha1.ServiceBulkhead) { b.Spec.Service = name }
}

func limit(n int32) option {
	return func(b *v1alpha1.ServiceBulkhead) { b.Spec.Limit = &n }
}

// invalid breaks a rule that admission enforces today.
func invalid(b *v1alpha1.ServiceBulkhead) { b.Spec.MaxWait = "2h" }

// younger makes a bulkhead that was created so much after epoch.
func younger(d time.Duration) option {
	return func(b *v1alpha1.ServiceBulkhead) { b.CreationTimestamp = metav1.NewTime(epoch.Add(d)) }
}

func deleting(b *v1alpha1.ServiceBulkhead) { b.DeletionTimestamp = new(metav1.NewTime(epoch)) }

// entry is what a document holds for a bulkhead of the fixtures.
func entry(n int) bulkheadconfig.Service {
	return bulkheadconfig.Service{
		Limit: n, ReclaimAfter: 30 * time.Second,
		OnReclaim: bulkheadconfig.Cancel, Enforcement: bulkheadconfig.Enforce,
	}
}

func mustRender(t testing.TB, verdicts []v1alpha1.Verdict) rendered {
	t.Helper()
	r, err := render(verdicts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// document renders a document that holds the entries.
func document(t testing.TB, all services) rendered {
	t.Helper()
	text, err := bulkheadconfig.Encode(all)
	if err != nil {
		t.Fatal(err)
	}
	return rendered{services: all, revision: bulkheadconfig.Revision(all), text: string(text)}
}

// configMap is one of ours that holds the text under our key.
func configMap(t testing.TB, text string) *corev1.ConfigMap {
	t.Helper()
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: v1alpha1.DefaultConfigMapName, UID: "1",
			Labels:        map[string]string{ManagedLabel: managedValue},
			ManagedFields: []metav1.ManagedFieldsEntry{ownership(t, FieldOwner)},
		},
		Data: map[string]string{bulkheadconfig.Key: text},
	}
}

// ownership is what the API server notes of a manager that wrote our key.
func ownership(t testing.TB, manager string) metav1.ManagedFieldsEntry {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"f:data": map[string]any{"f:" + bulkheadconfig.Key: struct{}{}}})
	if err != nil {
		t.Fatal(err)
	}
	fields := &metav1.FieldsV1{}
	fields.SetRawBytes(raw)
	return metav1.ManagedFieldsEntry{Manager: manager, FieldsType: "FieldsV1", FieldsV1: fields}
}
