// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The ConfigMap of the fixtures.
const configMapName = "service-bulkheads"

var configMap = types.NamespacedName{Namespace: "shop", Name: configMapName}

// epoch is when the fixtures' documents were written, and when the clock of synctest
// begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// revision is one that looks like it.
func revision(n int) string { return fmt.Sprintf("%016x", n) }

// option changes a fixture.
type option func(*corev1.Pod)

// newPod runs, started an hour before epoch and mounts the ConfigMap whole.
func newPod(name string, options ...option) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1",
			Labels: map[string]string{Label: labelValue, "app": "shop"}, Annotations: map[string]string{"theirs": "much"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "example.com/shop:1", VolumeMounts: []corev1.VolumeMount{
				{Name: "data", MountPath: "/data"}, {Name: "bulkheads", MountPath: "/etc/servicebulkhead"},
			}}},
			Volumes: []corev1.Volume{{Name: "data"}, mapped("bulkheads", configMapName)},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: new(metav1.NewTime(epoch.Add(-time.Hour))), PodIP: "10.0.0.1"},
	}
	for _, option := range options {
		option(pod)
	}
	return pod
}

// mapped is a volume of a ConfigMap.
func mapped(name, configMap string) corev1.Volume {
	volume := volumeOf(configMap)
	volume.Name = name
	return volume
}

func started(after time.Duration) option {
	return func(pod *corev1.Pod) { pod.Status.StartTime = new(metav1.NewTime(epoch.Add(after))) }
}

func phase(p corev1.PodPhase) option { return func(pod *corev1.Pod) { pod.Status.Phase = p } }

func deleting(pod *corev1.Pod) { pod.DeletionTimestamp = new(metav1.NewTime(epoch)) }

func subPath(pod *corev1.Pod) { pod.Spec.Containers[0].VolumeMounts[1].SubPath = "bulkheads.v1.json" }

func nudgedTo(revision string) option {
	return func(pod *corev1.Pod) { pod.Annotations[Annotation(configMapName)] = revision }
}
