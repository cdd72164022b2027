// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
)

// The rules are the API server's: every other spec of this suite but the operator's
// own holds without it too.
var _ = Describe("With the operator stopped and everything else installed", func() {
	BeforeEach(func(ctx context.Context) {
		deployment, err := people.kube.AppsV1().Deployments(operatorNamespace).Get(ctx, operatorAccount, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(deployment.Status.ReadyReplicas).To(BeZero(), "the operator runs")
	})

	It("bulkheads, pods, ConfigMaps and namespaces can be created, changed and deleted", func(ctx context.Context) {
		makeNamespace(ctx, "alone")
		comeAndGo(ctx, people.bulkheads("alone"), object("payments", map[string]any{"limit": int64(1), "reclaimAfter": "30s"}))
		for kind, manifest := range map[string]any{"Pod": newPod("shop"), "ConfigMap": newMap("service-bulkheads")} {
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(manifest)
			Expect(err).NotTo(HaveOccurred())
			u := &unstructured.Unstructured{Object: content}
			u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
			resource, _ := meta.UnsafeGuessKindToResource(u.GroupVersionKind())
			comeAndGo(ctx, people.dynamic.Resource(resource).Namespace("alone"), u)
		}
	}, NodeTimeout(2*time.Minute))

	It("a namespace goes with everything in it", func(ctx context.Context) {
		namespaces := people.kube.CoreV1().Namespaces()
		_, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "going"}}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		_, err = people.bulkheads("going").Create(ctx, object("payments", map[string]any{"limit": int64(1), "reclaimAfter": "30s"}), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		_, err = people.kube.CoreV1().ConfigMaps("going").Create(ctx, newMap("service-bulkheads"), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		kubectl(ctx, "label", "namespace", "going", "team=shop")
		Expect(namespaces.Delete(ctx, "going", metav1.DeleteOptions{})).To(Succeed())
		Eventually(func(ctx context.Context) bool {
			_, err := namespaces.Get(ctx, "going", metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		}).WithContext(ctx).Should(BeTrue())
	}, NodeTimeout(2*time.Minute))
})

// comeAndGo creates an object, changes it and deletes it, and returns when it is gone.
func comeAndGo(ctx context.Context, client dynamic.ResourceInterface, manifest *unstructured.Unstructured) {
	GinkgoHelper()
	created, err := client.Create(ctx, manifest, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	created.SetLabels(map[string]string{"team": "shop"})
	created.SetFinalizers([]string{"example.com/hold"})
	changed, err := client.Update(ctx, created, metav1.UpdateOptions{})
	Expect(err).NotTo(HaveOccurred())
	Expect(changed.GetLabels()).To(Equal(created.GetLabels()))
	changed.SetFinalizers(nil)
	_, err = client.Update(ctx, changed, metav1.UpdateOptions{})
	Expect(err).NotTo(HaveOccurred())
	Expect(client.Delete(ctx, created.GetName(), metav1.DeleteOptions{})).To(Succeed())
	Eventually(func(ctx context.Context) bool {
		_, err := client.Get(ctx, created.GetName(), metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}).WithContext(ctx).Should(BeTrue())
}
