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

	"github.com/servicebulkhead/servicebulkhead/controllers"
)

// giant is how long the value of a giant ConfigMap is.
const giant = 900 << 10

// giants adds ConfigMaps that are not the operator's to the cluster (case O30), some
// of which have got its label by mistake, and looks at its memory.
func (t *trial) giants(ctx context.Context) error {
	t.report.Section("O30: %d unrelated and %d labelled ConfigMaps of 900 KiB", t.unrelated, t.labelled)
	before, err := t.operator.Memory()
	if err != nil {
		return err
	}
	if err := t.addGiants(ctx, "unrelated", t.unrelated, nil); err != nil {
		return err
	}
	if err := t.checkGrowth("resident memory, after the unrelated", before.Now); err != nil {
		return err
	}
	labels := map[string]string{controllers.ManagedLabel: "true"}
	if err := t.addGiants(ctx, "labelled", t.labelled, labels); err != nil {
		return err
	}
	if err := t.observer.awaitQuiet(ctx); err != nil {
		return err
	}
	if err := t.checkMemory("resident memory, after the labelled"); err != nil {
		return err
	}
	after, err := t.operator.Memory()
	t.report.Note("more than before the giants", "%.0f MiB", after.Now-before.Now)
	return err
}

func (t *trial) addGiants(ctx context.Context, name string, n int, labels map[string]string) error {
	began := time.Now()
	err := parallel(ctx, 4, n, func(ctx context.Context, i int) error {
		return t.bed.Admin.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: t.key(i).Namespace, Name: fmt.Sprintf("%s-%d", name, i), Labels: labels,
			},
			Data: map[string]string{"theirs": strings.Repeat("x", giant)},
		})
	})
	t.report.Note("creating the "+name+" took", "%.1fs", time.Since(began).Seconds())
	return err
}

func (t *trial) checkGrowth(what string, before float64) error {
	m, err := t.operator.Memory()
	t.report.Must(m.Now-before <= mostGrowth, what, "<= 16 MiB more", "%.0f MiB, was %.0f", m.Now, before)
	return err
}
