// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// mounts has a container of some kind mount the volume too.
func mounts(m corev1.VolumeMount) option {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, m)
	}
}

// volume takes the place of the fixture's.
func volume(v corev1.Volume) option {
	return func(pod *corev1.Pod) { v.Name = "bulkheads"; pod.Spec.Volumes[1] = v }
}

func projected(names ...string) corev1.Volume {
	source := &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{}}}}
	for _, name := range names {
		source.Sources = append(source.Sources, corev1.VolumeProjection{
			ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
		})
	}
	return corev1.Volume{VolumeSource: corev1.VolumeSource{Projected: source}}
}

func unmounted(pod *corev1.Pod) { pod.Spec.Containers[0].VolumeMounts = nil }

var shapes = map[string]struct {
	options []option
	want    map[string]mount
}{
	"whole":           {nil, map[string]mount{configMapName: whole}},
	"by subPath":      {[]option{subPath}, map[string]mount{configMapName: bySubPath}},
	"by subPathExpr":  {[]option{func(pod *corev1.Pod) { pod.Spec.Containers[0].VolumeMounts[1].SubPathExpr = "$(X)" }}, map[string]mount{configMapName: bySubPath}},
	"both ways":       {[]option{subPath, mounts(corev1.VolumeMount{Name: "bulkheads"})}, map[string]mount{configMapName: whole}},
	"both, reversed":  {[]option{mounts(corev1.VolumeMount{Name: "bulkheads", SubPath: "x"})}, map[string]mount{configMapName: whole}},
	"nowhere":         {[]option{unmounted}, map[string]mount{}},
	"another's name":  {[]option{volume(mapped("", "settings"))}, map[string]mount{}},
	"projected":       {[]option{volume(projected("settings", "a-bulkheads", "b-bulkheads"))}, map[string]mount{"a-bulkheads": whole, "b-bulkheads": whole}},
	"by an init":      {[]option{unmounted, func(pod *corev1.Pod) { pod.Spec.InitContainers = container("") }}, map[string]mount{configMapName: whole}},
	"by an init, sub": {[]option{unmounted, func(pod *corev1.Pod) { pod.Spec.InitContainers = container("x") }}, map[string]mount{configMapName: bySubPath}},
	"by an ephemeral": {[]option{unmounted, func(pod *corev1.Pod) {
		pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon(container("")[0])}}
	}}, map[string]mount{configMapName: whole}},
	"two volumes, one by subPath": {[]option{subPath, func(pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, mapped("again", configMapName))
	}, mounts(corev1.VolumeMount{Name: "again"})}, map[string]mount{configMapName: whole}},
}

func container(subPath string) []corev1.Container {
	return []corev1.Container{{VolumeMounts: []corev1.VolumeMount{{Name: "bulkheads", SubPath: subPath}}}}
}

func TestMounts(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			if got := mountsOf(newPod("one", shape.options...)); !maps.Equal(got, shape.want) {
				t.Errorf("got %v, want %v", got, shape.want)
			}
		})
	}
}

// TestStrip: the smaller pod mounts the same, is decided on alike, is as small as it
// gets, and stripping it once more changes nothing.
func TestStrip(t *testing.T) {
	d := Document{Revision: revision(1), Written: epoch}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			pod := newPod("one", append(shape.options, nudgedTo(revision(7)))...)
			small := stripped(t, pod)
			if got := mountsOf(small); !maps.Equal(got, shape.want) {
				t.Errorf("got %v, want %v", got, shape.want)
			}
			why1, yes1 := decide(pod, configMapName, d)
			if why2, yes2 := decide(small, configMapName, d); why1 != why2 || yes1 != yes2 {
				t.Errorf("the pod: %s %t, stripped: %s %t", why1, yes1, why2, yes2)
			}
			if again := stripped(t, small); text(t, again) != text(t, small) && len(shape.want) < 2 {
				t.Errorf("got %s, then %s", text(t, small), text(t, again))
			}
			for _, left := range []string{"theirs", "kubelet", "labels", "example.com", "10.0.0.1"} {
				if strings.Contains(text(t, small), left) {
					t.Errorf("%s is still there: %s", left, text(t, small))
				}
			}
		})
	}
}

func TestStripKeepsOutWhatPeopleMakeLarge(t *testing.T) {
	small := stripped(t, newPod("one", nudgedTo(strings.Repeat("x", 100_000))))
	if got := len(text(t, small)); got > 2000 {
		t.Errorf("got %d bytes", got)
	}
	if _, yes := decide(small, configMapName, Document{Revision: revision(1), Written: epoch}); !yes {
		t.Error("is not nudged")
	}
}

// TestCacheIsSmall: what 5,000 pods take in the cache.
func TestCacheIsSmall(t *testing.T) {
	const pods = 5000
	small := make([]*corev1.Pod, pods)
	before := heap()
	for i := range small {
		small[i] = stripped(t, newPod(fmt.Sprint("shop-5d8f9c7b6d-", i), nudgedTo(revision(i))))
	}
	each := (heap() - before) / pods
	runtime.KeepAlive(small)
	t.Logf("%d bytes a pod, %d KiB for %d", each, each*pods>>10, pods)
	if each > 4<<10 {
		t.Errorf("a pod takes %d bytes, want at most 4 KiB", each)
	}
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func stripped(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	out, err := strip(pod)
	if err != nil {
		t.Fatal(err)
	}
	small, ok := out.(*corev1.Pod)
	if !ok {
		t.Fatalf("got %T", out)
	}
	return small
}

func text(t *testing.T, object any) string {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestOnlyLabelledPodsAreCached(t *testing.T) {
	if got := asking.Label.String(); got != "servicebulkhead.io/nudge=enabled" {
		t.Errorf("caches the pods with %q", got)
	}
	if out, err := strip("a tombstone"); err != nil || out != "a tombstone" {
		t.Errorf("got %v, %v", out, err)
	}
}

func TestChangesThatMatter(t *testing.T) {
	was := newPod("one", started(0))
	tests := map[string]struct {
		change option
		want   bool
	}{
		"our annotation":  {nudgedTo(revision(1)), false},
		"a condition":     {func(pod *corev1.Pod) { pod.Status.Conditions = []corev1.PodCondition{{}} }, false},
		"runs no more":    {phase(corev1.PodFailed), true},
		"acknowledged":    {started(1), true},
		"is another":      {func(pod *corev1.Pod) { pod.UID = "2" }, true},
		"a resync":        {func(pod *corev1.Pod) { pod.ResourceVersion = "1" }, true},
		"mounts one more": {func(pod *corev1.Pod) { pod.Spec.Volumes = append(pod.Spec.Volumes, mapped("a", "a-bulkheads")) }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			now := was.DeepCopy()
			now.ResourceVersion = "2"
			test.change(now)
			if got := matters(was, now); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}
