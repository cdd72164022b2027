// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The pods that the attempts are about.
const (
	willingPod = "willing" // asks to be annotated
	silentPod  = "silent"  // does not
	crowdedPod = "crowded" // asks too, and has 1,000 annotations already
)

func makeGuardedPods(ctx context.Context) {
	willing := newPod(willingPod)
	willing.Labels = map[string]string{"servicebulkhead.io/nudge": "enabled", "team": "shop"}
	willing.Annotations = map[string]string{"note": "ours"}
	crowded := newPod(crowdedPod)
	crowded.Labels, crowded.Annotations = willing.Labels, map[string]string{}
	for i := range 1000 {
		crowded.Annotations[fmt.Sprint("note-", i)] = "ours"
	}
	for _, pod := range []*corev1.Pod{willing, newPod(silentPod), crowded} {
		_, err := people.kube.CoreV1().Pods(guarded).Create(ctx, pod, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			Containers:                   []corev1.Container{{Name: "main", Image: "example.com/shop:1"}},
			AutomountServiceAccountToken: new(false),
		},
	}
}

// patchPod is a strategic merge patch of the pod or, with a name behind it, of a subresource.
func patchPod(name, patch string, subresources ...string) func(context.Context, account) error {
	return func(ctx context.Context, a account) error {
		_, err := a.kube.CoreV1().Pods(guarded).Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
		return err
	}
}

// post sends a body to a subresource of the willing pod.
func post(subresource string, body any) func(context.Context, account) error {
	return func(ctx context.Context, a account) error {
		return a.kube.CoreV1().RESTClient().Post().Namespace(guarded).Resource("pods").Name(willingPod).
			SubResource(subresource).Param("command", "true").Body(body).Do(ctx).Error()
	}
}

var podRules = []guardRule{
	{
		refusal: "the operator neither creates, deletes, evicts, binds, resizes nor enters pods; " +
			"do it as somebody who may, and take the right away from the operator's role",
		attempts: []attempt{
			{"creates a pod", func(ctx context.Context, a account) error {
				_, err := a.kube.CoreV1().Pods(guarded).Create(ctx, newPod("intruder"), metav1.CreateOptions{DryRun: dryRun})
				return err
			}},
			{"deletes a pod", func(ctx context.Context, a account) error {
				return a.kube.CoreV1().Pods(guarded).Delete(ctx, willingPod, metav1.DeleteOptions{})
			}},
			{"deletes every pod", func(ctx context.Context, a account) error {
				return a.kube.CoreV1().Pods(guarded).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
			}},
			{"evicts a pod", post("eviction", &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: willingPod}})},
			{"binds a pod to a node", post("binding", &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{Name: willingPod}, Target: corev1.ObjectReference{Kind: "Node", Name: "a"},
			})},
			{"runs a command in a pod", post("exec", []byte{})},
			{"adds a container to a running pod", patchPod(willingPod,
				`{"spec":{"ephemeralContainers":[{"name":"intruder","image":"example.com/intruder:1"}]}}`, "ephemeralcontainers")},
			{"resizes a pod", patchPod(willingPod,
				`{"spec":{"containers":[{"name":"main","image":"example.com/shop:1","resources":{}}]}}`, "resize")},
		},
	},
	{
		refusal: "the operator annotates only pods that ask for it; " +
			"give the pods the label servicebulkhead.io/nudge=enabled in their template",
		attempts: []attempt{
			{"annotates a pod that did not ask for it", patchPod(silentPod, ownAnnotation(`"1"`), "status")},
			{"gives a pod the label that asks for it", patchPod(silentPod, `{"metadata":{"labels":{"servicebulkhead.io/nudge":"enabled"}}}`)},
		},
	},
	{
		refusal: "the operator writes nothing of a pod but its own annotation, revision.servicebulkhead.io/ and a ConfigMap's name: " +
			"spec, status, labels, finalizers, owner references and all managedFields at once are other people's; let one of them write those",
		attempts: []attempt{
			{"labels a pod through pods/status", patchPod(willingPod, `{"metadata":{"labels":{"app":"none"}}}`, "status")},
			{"changes a pod's label through pods/status", patchPod(willingPod, `{"metadata":{"labels":{"team":"none"}}}`, "status")},
			{"adds a finalizer to a pod through pods/status", patchPod(willingPod, `{"metadata":{"finalizers":["example.com/hold"]}}`, "status")},
			{"writes a pod's status", patchPod(willingPod, `{"status":{"phase":"Failed"}}`, "status")},
			{"writes a condition of a pod", patchPod(willingPod, `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, "status")},
			{"labels a pod", patchPod(willingPod, `{"metadata":{"labels":{"app":"none"}}}`)},
			{"removes a pod's label", patchPod(willingPod, `{"metadata":{"labels":{"servicebulkhead.io/nudge":null}}}`)},
			{"adds a finalizer to a pod", patchPod(willingPod, `{"metadata":{"finalizers":["example.com/hold"]}}`)},
			{"gives a pod an owner", patchPod(willingPod, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"1"}]}}`)},
			{"changes a pod's image", patchPod(willingPod, `{"spec":{"containers":[{"name":"main","image":"example.com/intruder:1"}]}}`)},
			{"ends a pod by a deadline", patchPod(willingPod, `{"spec":{"activeDeadlineSeconds":1}}`)},
			{"forgets who wrote which field of a pod", patchPod(willingPod, `{"metadata":{"managedFields":[{}]}}`)},
			{"labels a pod beside its own annotation", patchPod(willingPod,
				`{"metadata":{"labels":{"app":"none"},"annotations":{"revision.servicebulkhead.io/shop-bulkheads":"1"}}}`, "status")},
		},
	},
	{
		refusal: "the operator annotates no pod that has 1,000 annotations or more: to compare so many takes the API server seconds; " +
			"remove some, or let the pod follow in its kubelet's own time",
		attempts: []attempt{{"annotates a pod that has 1,000 annotations", patchPod(crowdedPod, ownAnnotation(`"1"`), "status")}},
	},
	{
		refusal: "of a pod's annotations the operator writes only revision.servicebulkhead.io/ and the name of a ConfigMap that ends " +
			"in -bulkheads: the others are other people's; let one of them write those",
		attempts: []attempt{
			{"adds another annotation through pods/status", patchPod(willingPod, `{"metadata":{"annotations":{"another":"text"}}}`, "status")},
			{"adds another annotation", patchPod(willingPod, `{"metadata":{"annotations":{"another":"text"}}}`)},
			{"adds an annotation like its own", patchPod(willingPod,
				`{"metadata":{"annotations":{"revision.servicebulkhead.io/settings":"1"}}}`, "status")},
			{"changes somebody's annotation", patchPod(willingPod, `{"metadata":{"annotations":{"note":"no more"}}}`, "status")},
			{"removes somebody's annotation", patchPod(willingPod, `{"metadata":{"annotations":{"note":null}}}`, "status")},
		},
	},
}

// ownAnnotation is a merge patch of the annotation that the operator may write; the
// value is JSON, null to remove it.
func ownAnnotation(value string) string {
	return `{"metadata":{"annotations":{"revision.servicebulkhead.io/shop-bulkheads":` + value + `}}}`
}
