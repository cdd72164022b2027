// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/controllers/nudge"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// podOption changes a pod before it is created.
type podOption func(*corev1.Pod)

// pod asks for nudges and mounts the ConfigMap that bulkheads name by default, whole.
func pod(namespace, name string, options ...podOption) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{nudge.Label: "enabled", "app": "shop"},
		},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(false),
			Containers: []corev1.Container{{
				Name: "main", Image: "example.com/shop:1",
				VolumeMounts: []corev1.VolumeMount{{Name: "bulkheads", MountPath: "/etc/servicebulkhead"}},
			}},
			Volumes: []corev1.Volume{{Name: "bulkheads", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: v1alpha1.DefaultConfigMapName}, Optional: new(true),
				},
			}}},
		},
	}
	for _, option := range options {
		option(p)
	}
	return p
}

func unlabelledPod(p *corev1.Pod) { delete(p.Labels, nudge.Label) }

func mounting(configMap string) podOption {
	return func(p *corev1.Pod) { p.Spec.Volumes[0].ConfigMap.Name = configMap }
}

func bySubPath(p *corev1.Pod) { p.Spec.Containers[0].VolumeMounts[0].SubPath = bulkheadconfig.Key }

// createPod stores a pod, once the namespace has the ServiceAccount that pods need.
func createPod(ctx context.Context, p *corev1.Pod) *corev1.Pod {
	GinkgoHelper()
	Eventually(func() error { return admin.Create(ctx, p) }).Should(Succeed())
	return p
}

// run says that a pod began to run so long ago, as its kubelet would.
func run(ctx context.Context, p *corev1.Pod, ago time.Duration) *corev1.Pod {
	GinkgoHelper()
	before := p.DeepCopy()
	p.Status.Phase, p.Status.StartTime = corev1.PodRunning, new(metav1.NewTime(time.Now().Add(-ago)))
	Expect(admin.Status().Patch(ctx, p, client.MergeFrom(before))).To(Succeed())
	return p
}

// running is a pod that began to run an hour ago.
func running(ctx context.Context, namespace, name string, options ...podOption) *corev1.Pod {
	GinkgoHelper()
	return run(ctx, createPod(ctx, pod(namespace, name, options...)), time.Hour)
}

// revision is the document's, as an agent would read it.
func revision(ctx context.Context, namespace string) string {
	GinkgoHelper()
	object, err := look(ctx, mapOf(namespace))()
	Expect(err).NotTo(HaveOccurred())
	doc, err := bulkheadconfig.Decode([]byte(object.Data[bulkheadconfig.Key]))
	Expect(err).NotTo(HaveOccurred())
	return doc.Revision
}

// told reads the revision that a pod was nudged to; empty when it was not.
func told(ctx context.Context, p *corev1.Pod) func(Gomega) string {
	return func(g Gomega) string {
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		return p.Annotations[nudge.Annotation(v1alpha1.DefaultConfigMapName)]
	}
}

// allTold reads the revisions of all pods of a namespace, and how many have each.
func allTold(ctx context.Context, namespace string) func(Gomega) map[string]int {
	return func(g Gomega) map[string]int {
		var list corev1.PodList
		g.Expect(admin.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
		found := map[string]int{}
		for i := range list.Items {
			found[list.Items[i].Annotations[nudge.Annotation(v1alpha1.DefaultConfigMapName)]]++
		}
		return found
	}
}

// podVersions notes the resourceVersion of every pod of a namespace.
func podVersions(ctx context.Context, namespace string) map[string]string {
	GinkgoHelper()
	var list corev1.PodList
	Expect(admin.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	versions := map[string]string{}
	for i := range list.Items {
		versions[fmt.Sprint(list.Items[i].Name, " ", list.Items[i].UID)] = list.Items[i].ResourceVersion
	}
	return versions
}

// nudging has an operator nudge, so fast that no spec waits for it.
func nudging(o *Options) { o.Nudge, o.NudgeRate = true, 500 }
