// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// editor is who edits by hand.
const editor = "kubectl-edit"

// hands are what people do to a ConfigMap of the operator's.
var hands = []func(*corev1.ConfigMap){
	func(m *corev1.ConfigMap) {
		rewrite(m, func(s string) string { return strings.ReplaceAll(s, `"limit": `, `"limit": 1`) })
	},
	func(m *corev1.ConfigMap) {
		rewrite(m, func(s string) string { return strings.ReplaceAll(s, "  ", "\t") })
	},
	func(m *corev1.ConfigMap) { rewrite(m, func(s string) string { return s[:len(s)/2] }) },
	func(m *corev1.ConfigMap) { rewrite(m, func(string) string { return "" }) },
	func(m *corev1.ConfigMap) { m.Data = map[string]string{"theirs": "1"} },
	func(m *corev1.ConfigMap) { m.Labels = nil },
}

func rewrite(m *corev1.ConfigMap, how func(string) string) {
	m.Data[bulkheadconfig.Key] = how(m.Data[bulkheadconfig.Key])
}

// edits has people edit ConfigMaps by hand, and now and then delete one.
func (t *trial) edits(ctx context.Context, p plan) error {
	return t.rounds(ctx, "ConfigMap edited or deleted by hand", p.edits, func(ctx context.Context) error {
		if err := pause(ctx, time.Duration(t.random.Int64N(int64(200*time.Millisecond)))); err != nil {
			return err
		}
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			// Not the contested one: who of two rivals was there first stands in it.
			Namespace: namespaceOf(t.random.IntN(namespaceCount)), Name: mapOf(1 + t.random.IntN(mapCount-1)),
		}}
		if err := t.bed.Admin.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
			return fmt.Errorf("edit by hand: %w", err)
		}
		hand := t.random.IntN(len(hands) + 1)
		if hand == len(hands) {
			return t.bed.Admin.Delete(ctx, m)
		}
		before := m.DeepCopy()
		hands[hand](m)
		return t.bed.Admin.Patch(ctx, m, client.MergeFrom(before), client.FieldOwner(editor))
	})
}
