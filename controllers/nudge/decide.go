// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Document is what a ConfigMap holds.
type Document struct {
	// Revision is the document's own, as agents show it.
	Revision string
	// Written is when the ConfigMap began to hold it, or later: pods that started
	// afterwards have read it.
	Written time.Time
}

// margin is how much later than the write a pod must have started to be sure to have
// read what was written. A pod's start is noted in whole seconds by its node's clock,
// the write by another, and a kubelet may learn of the write a moment late. A margin
// too long costs such a pod one annotation; one too short, a minute with old values.
const margin = 10 * time.Second

// reason says why a pod is left alone.
type reason string

const (
	notMounted   reason = "NotMounted"
	subPathOnly  reason = "SubPath"
	notRunning   reason = "NotRunning"
	terminating  reason = "Terminating"
	current      reason = "Current"
	startedLater reason = "StartedLater"
)

// exceptions are the reasons, the first that applies counts.
var exceptions = []struct {
	reason  reason
	applies func(pod *corev1.Pod, configMap string, d Document) bool
}{
	// A pod that is yet to run is looked at again when it does.
	{notRunning, func(pod *corev1.Pod, _ string, _ Document) bool { return pod.Status.Phase != corev1.PodRunning }},
	{terminating, func(pod *corev1.Pod, _ string, _ Document) bool { return pod.DeletionTimestamp != nil }},
	{notMounted, func(pod *corev1.Pod, configMap string, _ Document) bool {
		_, yes := mountsOf(pod)[configMap]
		return !yes
	}},
	{subPathOnly, func(pod *corev1.Pod, configMap string, _ Document) bool { return mountsOf(pod)[configMap] == bySubPath }},
	{current, func(pod *corev1.Pod, configMap string, d Document) bool {
		return pod.Annotations[Annotation(configMap)] == d.Revision
	}},
	{startedLater, func(pod *corev1.Pod, _ string, d Document) bool {
		return pod.Status.StartTime != nil && pod.Status.StartTime.After(d.Written.Add(margin))
	}},
}

// decide says whether a pod is to be nudged to a document; if not, why.
func decide(pod *corev1.Pod, configMap string, d Document) (why reason, yes bool) {
	for _, exception := range exceptions {
		if exception.applies(pod, configMap, d) {
			return exception.reason, false
		}
	}
	return "", true
}
