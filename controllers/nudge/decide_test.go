// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestDecide(t *testing.T) {
	tests := map[string]struct {
		options []option
		why     reason // empty: to be nudged
	}{
		"older than the write":               {nil, ""},
		"has the revision before":            {[]option{nudgedTo(revision(1))}, ""},
		"has the revision":                   {[]option{nudgedTo(revision(2))}, current},
		"somebody's text":                    {[]option{nudgedTo("yes")}, ""},
		"started as it was written":          {[]option{started(0)}, ""},
		"started within the margin":          {[]option{started(margin)}, ""},
		"started just after the margin":      {[]option{started(margin + time.Second)}, startedLater},
		"started later, has another":         {[]option{started(time.Minute), nudgedTo(revision(1))}, startedLater},
		"no start is known":                  {[]option{func(pod *corev1.Pod) { pod.Status.StartTime = nil }}, ""},
		"pending":                            {[]option{phase(corev1.PodPending)}, notRunning},
		"succeeded":                          {[]option{phase(corev1.PodSucceeded)}, notRunning},
		"failed":                             {[]option{phase(corev1.PodFailed)}, notRunning},
		"unknown":                            {[]option{phase(corev1.PodUnknown)}, notRunning},
		"terminating":                        {[]option{deleting}, terminating},
		"mounts another":                     {[]option{volume(mapped("", "other-bulkheads"))}, notMounted},
		"has the volume and does not use it": {[]option{unmounted}, notMounted},
		"by subPath":                         {[]option{subPath}, subPathOnly},
		"by subPath, and has the revision":   {[]option{subPath, nudgedTo(revision(2))}, subPathOnly},
	}
	d := Document{Revision: revision(2), Written: epoch}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			why, yes := decide(newPod("one", test.options...), configMapName, d)
			if why != test.why || yes != (test.why == "") {
				t.Errorf("got %q, %t; want %q", why, yes, test.why)
			}
		})
	}
}

// TestANudgedPodIsNotNudgedAgain: what a nudge does to a pod settles the decision.
func TestANudgedPodIsNotNudgedAgain(t *testing.T) {
	d := Document{Revision: revision(2), Written: epoch}
	for _, pod := range []*corev1.Pod{newPod("old"), newPod("young", started(margin)), newPod("nudged", nudgedTo(revision(1)))} {
		if _, yes := decide(pod, configMapName, d); !yes {
			t.Fatalf("%s is not nudged", pod.Name)
		}
		nudgedTo(d.Revision)(pod)
		if _, yes := decide(pod, configMapName, d); yes {
			t.Errorf("%s is nudged again", pod.Name)
		}
	}
}
