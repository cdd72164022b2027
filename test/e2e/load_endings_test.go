// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	pods, err := cluster.client.Watch(watching, &corev1.PodList{}, client.InNamespace(namespace), client.MatchingLabels{appLabel: "shop"})
	Expect(err).NotTo(HaveOccurred())
	e := &endings{pods: map[string]ending{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.follow(watching, pods)
	}()
	DeferCleanup(func() {
		cancel()
		pods.Stop()
		<-done
	})
	return e
}

// follow records what it is told. A watch that ends by itself leaves a hole.
func (e *endings) follow(ctx context.Context, pods watch.Interface) {
	for event := range pods.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			e.fail(fmt.Errorf("the watch of pods says %s: %v", event.Type, event.Object))
			return
		}
		e.note(pod, event.Type == watch.Deleted)
	}
	if ctx.Err() == nil {
		e.fail(errors.New("the watch of pods has ended by itself"))
	}
}

func (e *endings) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = err
}

// note takes over what an event says. In the end the kubelet deletes the pod without
// any grace: the first deadline is the one that counts.
func (e *endings) note(pod *corev1.Pod, gone bool) {
	if pod.DeletionTimestamp == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
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
