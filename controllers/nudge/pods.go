// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Label asks for nudges, on the pods themselves: in the template of whatever makes
	// them. Its value is "enabled".
	Label = "servicebulkhead.io/nudge"

	// AnnotationPrefix stands before the name of a ConfigMap in the annotation that
	// tells which revision of it a pod was nudged to.
	AnnotationPrefix = "revision.servicebulkhead.io/"

	labelValue = "enabled"

	// configMapSuffix ends the name of every ConfigMap that carries a document; admission
	// sees to that.
	configMapSuffix = "-bulkheads"
)

// Annotation is the key of the annotation for a ConfigMap.
func Annotation(configMap string) string { return AnnotationPrefix + configMap }

// strip makes of a pod a smaller one that is decided on alike, and mounts the same
// ConfigMaps of ours in the same way.
func strip(in any) (any, error) {
	pod, ok := in.(*corev1.Pod)
	if !ok {
		return in, nil
	}
	small := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			DeletionTimestamp: pod.DeletionTimestamp,
		},
		Status: corev1.PodStatus{Phase: pod.Status.Phase, StartTime: pod.Status.StartTime},
	}
	for key, value := range pod.Annotations {
		if strings.HasPrefix(key, AnnotationPrefix) {
			metav1.SetMetaDataAnnotation(&small.ObjectMeta, key, short(value))
		}
	}
	var mounts []corev1.VolumeMount
	for name, how := range mountsOf(pod) {
		small.Spec.Volumes = append(small.Spec.Volumes, volumeOf(name))
		mounts = append(mounts, corev1.VolumeMount{Name: name, SubPath: how.subPath()})
	}
	if len(mounts) > 0 {
		small.Spec.Containers = []corev1.Container{{VolumeMounts: mounts}}
	}
	return small, nil
}

// short keeps what people can make large out of the cache: no revision is that long.
func short(value string) string {
	if len(value) > 64 {
		return "(long)"
	}
	return value
}

func volumeOf(configMap string) corev1.Volume {
	return corev1.Volume{Name: configMap, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: configMap},
	}}}
}

// mount is how a pod mounts a ConfigMap.
type mount bool

const (
	whole mount = true // somewhere at least, and there it is updated
	// bySubPath is as files of which the kubelet makes copies, once, at the start
	// (https://kubernetes.io/docs/concepts/storage/volumes/#using-subpath).
	bySubPath mount = false
)

func (m mount) subPath() string {
	if m == bySubPath {
		return "file"
	}
	return ""
}

// mountsOf tells which ConfigMaps of ours a pod's containers mount, and how. A
// volume that no container mounts does not count.
func mountsOf(pod *corev1.Pod) map[string]mount {
	mounted := map[string]mount{} // by volume
	for _, m := range volumeMounts(&pod.Spec) {
		mounted[m.Name] = mounted[m.Name] || mount(m.SubPath == "" && m.SubPathExpr == "")
	}
	found := map[string]mount{}
	for i := range pod.Spec.Volumes {
		how, ok := mounted[pod.Spec.Volumes[i].Name]
		if !ok {
			continue
		}
		for _, name := range configMapsOf(&pod.Spec.Volumes[i]) {
			if strings.HasSuffix(name, configMapSuffix) {
				found[name] = found[name] || how
			}
		}
	}
	return found
}

// volumeMounts are those of all containers, of whatever kind.
func volumeMounts(spec *corev1.PodSpec) (all []corev1.VolumeMount) {
	for i := range spec.InitContainers {
		all = append(all, spec.InitContainers[i].VolumeMounts...)
	}
	for i := range spec.Containers {
		all = append(all, spec.Containers[i].VolumeMounts...)
	}
	for i := range spec.EphemeralContainers {
		all = append(all, spec.EphemeralContainers[i].VolumeMounts...)
	}
	return all
}

// configMapsOf names the ConfigMaps that a volume is made of.
func configMapsOf(volume *corev1.Volume) (names []string) {
	if volume.ConfigMap != nil {
		names = append(names, volume.ConfigMap.Name)
	}
	if volume.Projected != nil {
		for _, source := range volume.Projected.Sources {
			if source.ConfigMap != nil {
				names = append(names, source.ConfigMap.Name)
			}
		}
	}
	return names
}

// configMapIndex is the cache's index of pods by the ConfigMaps that they mount.
const configMapIndex = "configMap"

func indexConfigMaps(object client.Object) (names []string) {
	if pod, ok := object.(*corev1.Pod); ok {
		for name := range mountsOf(pod) {
			names = append(names, name)
		}
	}
	return names
}
