// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
)

// endings records how the shop's pods end. It watches, because what a kubelet says
// last of a pod, the drain report in its termination message among it, goes away
// together with the pod.
type endings struct {
	mu   sync.Mutex
	pods map[string]ending
	err  error
}

// ending is what is known of a pod that was told to end.
type ending struct {
	pod string
	// told is when somebody asked for the end, grace how long the pod might take.
	told  time.Time
	grace time.Duration
	// state is how the container ended; nil while it runs.
	state *corev1.ContainerStateTerminated
	// gone says that the pod is no more.
	gone bool
}

// watchEndings records until the spec, or the container whose it is, has ended.
func watchEndings(ctx context.Context, namespace string) *endings {
	GinkgoHelper()
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	DeferCleanup(cancel)
	e := &endings{pods: map[string]ending{}}
	watchPods(watching, namespace, cache.ResourceEventHandlerFuncs{
		AddFunc:    func(pod any) { e.note(pod, false) },
		UpdateFunc: func(_, pod any) { e.note(pod, false) },
		DeleteFunc: func(pod any) { e.note(pod, true) },
	})
	return e
}

// note takes over what an event says. In the end the kubelet deletes the pod without
// any grace: the first deadline is the one that counts.
func (e *endings) note(object any, gone bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	pod, ok := object.(*corev1.Pod)
	if !ok { // the watch was interrupted, and what the pod said last went by
		e.err = fmt.Errorf("the end of a pod was missed: %v", object)
		return
	}
	if pod.Labels[appLabel] != "shop" || pod.DeletionTimestamp == nil {
		return
	}
	one, known := e.pods[pod.Name]
	if !known {
		grace := time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
		one = ending{pod: pod.Name, grace: grace, told: pod.DeletionTimestamp.Add(-grace)}
	}
	for _, container := range pod.Status.ContainerStatuses {
		if ended := container.State.Terminated; ended != nil {
			one.state = ended
		}
	}
	one.gone = gone
	e.pods[pod.Name] = one
}

// all returns every ending so far.
func (e *endings) all() []ending {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]ending, 0, len(e.pods))
	for _, one := range e.pods {
		all = append(all, one)
	}
	return all
}

// of waits until the pods are gone and returns how they ended.
func (e *endings) of(ctx context.Context, pods []*corev1.Pod) (all []ending) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		e.mu.Lock()
		defer e.mu.Unlock()
		g.Expect(e.err).NotTo(HaveOccurred())
		all = nil
		for _, pod := range pods {
			g.Expect(e.pods[pod.Name].gone).To(BeTrue(), "pod %s is not gone", pod.Name)
			all = append(all, e.pods[pod.Name])
		}
	}).WithContext(ctx).Should(Succeed())
	return all
}

// used is how much of its grace period the pod took; Kubernetes counts in seconds.
func (e ending) used() time.Duration { return e.state.FinishedAt.Sub(e.told) }

// farewell is the last word of the shop, its termination message.
func (e ending) farewell() (last words.Shop) {
	GinkgoHelper()
	Expect(e.state).NotTo(BeNil(), "nothing says how the container of pod %s ended", e.pod)
	Expect(json.Unmarshal([]byte(e.state.Message), &last)).To(Succeed(), "pod %s says %q", e.pod, e.state.Message)
	return last
}
