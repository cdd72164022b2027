// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	reconcileTotal = "controller_runtime_reconcile_total"
	residentBytes  = "process_resident_memory_bytes"
)

// addGiants creates ConfigMaps of 900 KiB.
func addGiants(ctx context.Context, namespace, name string, n int, labels map[string]string) {
	GinkgoHelper()
	text := strings.Repeat("x", 900<<10)
	for i := range n {
		Expect(admin.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", name, i), Labels: labels},
			Data:       map[string]string{"theirs": text},
		})).To(Succeed())
	}
}

var _ = Describe("An operator with nothing to do", func() {
	It("O16: which waits for a person, looks less than once a second", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		Expect(admin.Create(ctx, mapOf(namespace))).To(Succeed())
		operator := startProcess(namespace)
		Eventually(state(ctx, create(ctx, namespace, "payments"))).Should(ContainSubstring("ConfigMapConflict"))
		before, err := operator.metrics(ctx)
		Expect(err).NotTo(HaveOccurred())
		const window = 4 * time.Second
		Consistently(operator.metrics).WithContext(ctx).WithTimeout(window).Should(
			HaveKeyWithValue(reconcileTotal, BeNumerically("<", before[reconcileTotal]+window.Seconds())))
	})

	// Were one of them in its cache, 80 would take 70 MiB. make scale looks at all 500.
	It("O30: has memory that other people's giant ConfigMaps leave flat, with and without its label", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		operator := startProcess(namespace)
		Eventually(state(ctx, create(ctx, namespace, "payments"))).Should(bePublished())
		before, err := operator.metrics(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(before).To(HaveKeyWithValue(residentBytes, BeNumerically(">", 10<<20)))

		addGiants(ctx, namespace, "unrelated", 60, nil)
		addGiants(ctx, namespace, "labelled", 20, map[string]string{ManagedLabel: "true"})
		Eventually(operator.metrics).WithContext(ctx).Should(
			HaveKeyWithValue(reconcileTotal, BeNumerically(">=", before[reconcileTotal]+20)), "it has looked at the labelled")
		Consistently(operator.metrics).WithContext(ctx).Should(
			HaveKeyWithValue(residentBytes, BeNumerically("<", before[residentBytes]+40*(1<<20))))
	})
})
