// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/servicebulkhead/servicebulkhead/controllers"
	"github.com/servicebulkhead/servicebulkhead/controllers/nudge"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// What the guards must let through: the operator's own work, on objects into which
// other people have put things of theirs.
var _ = Describe("The operator's account does its own work", func() {
	configMap := func(ctx context.Context, name string) *corev1.ConfigMap {
		GinkgoHelper()
		object, err := people.kube.CoreV1().ConfigMaps(guarded).Get(ctx, name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		return object
	}
	createConfigMap := func(ctx context.Context, a account, object *corev1.ConfigMap, manager string) {
		GinkgoHelper()
		_, err := a.kube.CoreV1().ConfigMaps(guarded).Create(ctx, object, metav1.CreateOptions{FieldManager: manager})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx context.Context) error {
			Expect(patchMap(object.Name, `{"metadata":{"finalizers":null}}`)(ctx, people)).To(Succeed())
			return people.kube.CoreV1().ConfigMaps(guarded).Delete(ctx, object.Name, metav1.DeleteOptions{})
		})
	}
	crowd := func(c *corev1.ConfigMap) {
		c.Labels["team"], c.Labels["app.kubernetes.io/instance"] = "shop", "a"
		c.Annotations = map[string]string{"note": "ours too", "argocd.argoproj.io/tracking-id": "a"}
		c.Finalizers, c.Data["other"] = []string{"example.com/hold"}, "text"
		c.BinaryData = map[string][]byte{"blob": {0, 1}}
	}

	It("creates a ConfigMap, applies it, and puts back a label that somebody removed", func(ctx context.Context) {
		createConfigMap(ctx, operator, newMap("flow-bulkheads"), controllers.FieldOwner)
		Expect(applyMap("flow-bulkheads")(ctx, operator)).To(Succeed())
		Expect(patchMap("flow-bulkheads", `{"metadata":{"labels":{"servicebulkhead.io/managed":null}}}`)(ctx, people)).To(Succeed())
		Expect(applyMap("flow-bulkheads")(ctx, operator)).To(Succeed())
		Expect(configMap(ctx, "flow-bulkheads").Labels).To(HaveKeyWithValue(controllers.ManagedLabel, "true"))
	})

	It("takes over a ConfigMap that somebody labelled, and leaves what is in it", func(ctx context.Context) {
		createConfigMap(ctx, people, newMap("handed-bulkheads", crowd), "somebody")
		before := configMap(ctx, "handed-bulkheads")
		Expect(applyMap("handed-bulkheads")(ctx, operator)).To(Succeed())
		after := configMap(ctx, "handed-bulkheads")
		Expect(after.Data).To(Equal(map[string]string{bulkheadconfig.Key: "{ }", "other": "text"}))
		after.Data, after.ManagedFields, after.ResourceVersion = before.Data, before.ManagedFields, before.ResourceVersion
		Expect(after).To(Equal(before))
	})

	It("is not held up by what a webhook puts on everything that is written", func(ctx context.Context) {
		createConfigMap(ctx, operator, newMap("stamped-bulkheads", func(c *corev1.ConfigMap) {
			c.Labels["stamp"], c.Annotations = "1", map[string]string{"stamp": "1"}
		}), controllers.FieldOwner)
		Expect(patchMap("stamped-bulkheads", `{"metadata":{"labels":{"stamp":"2"},"annotations":{"stamp":"2","more":"1"}},
			"data":{"bulkheads.v1.json":"{ }"}}`)(ctx, operator)).To(Succeed())
	})

	It("writes a document where somebody's ConfigMap has the label and none yet", func(ctx context.Context) {
		createConfigMap(ctx, people, newMap("empty-bulkheads", func(c *corev1.ConfigMap) { c.Data = nil }), "somebody")
		Expect(applyMap("empty-bulkheads")(ctx, operator)).To(Succeed())
	})

	It("writes a document beside 10,000 keys of other people's", func(ctx context.Context) {
		createConfigMap(ctx, people, newMap("giant-bulkheads", func(c *corev1.ConfigMap) {
			for i := range 10_000 {
				c.Data[fmt.Sprint("key-", i)] = "x"
			}
		}), "somebody")
		Expect(applyMap("giant-bulkheads")(ctx, operator)).To(Succeed())
	})

	It("annotates pods that ask for it", func(ctx context.Context) {
		pod := newPod("followed")
		pod.Labels, pod.Annotations = map[string]string{"servicebulkhead.io/nudge": "enabled"}, map[string]string{"note": "ours"}
		pod.Finalizers = []string{"example.com/hold"}
		created, err := people.kube.CoreV1().Pods(guarded).Create(ctx, pod, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx context.Context) error {
			Expect(patchPod(pod.Name, `{"metadata":{"finalizers":null}}`)(ctx, people)).To(Succeed())
			return people.kube.CoreV1().Pods(guarded).Delete(ctx, pod.Name, metav1.DeleteOptions{})
		})
		for _, subresources := range [][]string{{"status"}, nil} {
			for _, value := range []string{`"1"`, `"2"`, `null`} {
				Expect(patchPod(pod.Name, ownAnnotation(value), subresources...)(ctx, operator)).To(Succeed())
			}
		}
		_, err = operator.kube.CoreV1().Pods(guarded).Patch(ctx, pod.Name, types.ApplyPatchType,
			[]byte(`{"apiVersion":"v1","kind":"Pod",`+ownAnnotation(`"3"`)[1:]), forced, "status")
		Expect(err).NotTo(HaveOccurred())
		// As a nudge does it.
		_, err = operator.kube.CoreV1().Pods(guarded).Patch(ctx, pod.Name, types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:"4"}}}`, created.UID, nudge.Annotation("shop-bulkheads")),
			metav1.PatchOptions{FieldManager: controllers.FieldOwner}, "status")
		Expect(err).NotTo(HaveOccurred())
	})

	// What pods/status and servicebulkheads/status never change needs no guard.
	It("writes nothing of a pod's spec and owners through pods/status", func(ctx context.Context) {
		pod := newPod("unchanged")
		pod.Labels = map[string]string{"servicebulkhead.io/nudge": "enabled"}
		before, err := people.kube.CoreV1().Pods(guarded).Create(ctx, pod, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx context.Context) error {
			return people.kube.CoreV1().Pods(guarded).Delete(ctx, pod.Name, metav1.DeleteOptions{})
		})
		Expect(patchPod(pod.Name, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"1"}]},
			"spec":{"activeDeadlineSeconds":1}}`, "status")(ctx, operator)).To(Succeed())
		after, err := people.kube.CoreV1().Pods(guarded).Get(ctx, pod.Name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(after.Spec).To(Equal(before.Spec))
		Expect(after.OwnerReferences).To(BeEmpty())
	})

	It("writes the status of a ServiceBulkhead, and nothing else through it", func(ctx context.Context) {
		u := object("reported", map[string]any{"limit": int64(1), "reclaimAfter": "30s"})
		before, err := people.bulkheads(guarded).Create(ctx, u, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx context.Context) error {
			return people.bulkheads(guarded).Delete(ctx, u.GetName(), metav1.DeleteOptions{})
		})
		after, err := operator.bulkheads(guarded).Patch(ctx, u.GetName(), types.MergePatchType, []byte(`{
			"metadata":{"labels":{"app":"none"},"finalizers":["example.com/hold"]},
			"spec":{"limit":0},"status":{"observedGeneration":1}}`), metav1.PatchOptions{}, "status")
		Expect(err).NotTo(HaveOccurred())
		Expect(after.Object["status"]).To(Equal(map[string]any{"observedGeneration": int64(1)}))
		Expect(after.Object["spec"]).To(Equal(before.Object["spec"]))
		Expect(after.GetLabels()).To(BeEmpty())
		Expect(after.GetFinalizers()).To(BeEmpty())
	})
})
