// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
)

// podsOf returns the pods of an application that are not on their way out.
func podsOf(ctx context.Context, namespace, app string) ([]*corev1.Pod, error) {
	var list corev1.PodList
	err := cluster.client.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{appLabel: app})
	if err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		if pod := &list.Items[i]; pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, nil
}

// ready waits until an application has just so many pods, all of them ready, and
// returns them by name.
func ready(ctx context.Context, namespace, app string, n int) (pods []*corev1.Pod) {
	GinkgoHelper()
	Eventually(func(g Gomega, ctx context.Context) {
		var err error
		pods, err = podsOf(ctx, namespace, app)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pods).To(HaveEach(Satisfy(isReady)), "%s", states(pods))
		g.Expect(pods).To(HaveLen(n))
	}).WithContext(ctx).Should(Succeed())
	return pods
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// states says of each pod in a line how it is.
func states(pods []*corev1.Pod) string {
	var text strings.Builder
	for _, pod := range pods {
		fmt.Fprintf(&text, "%s: %s, ready %t", pod.Name, pod.Status.Phase, isReady(pod))
		for _, c := range pod.Status.ContainerStatuses {
			if w := c.State.Waiting; w != nil {
				fmt.Fprintf(&text, ", waits: %s %s", w.Reason, w.Message)
			}
			if t := c.State.Terminated; t != nil {
				fmt.Fprintf(&text, ", ended: %s %d %s", t.Reason, t.ExitCode, t.Message)
			}
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// stateOf asks a shop's agent.
func stateOf(ctx context.Context, pod *corev1.Pod) (s words.Agent, err error) {
	body, err := get(ctx, pod, shopPort, "/debug/bulkheads?format=json")
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal([]byte(body), &s)
}

// statesOf asks the agents of several.
func statesOf(ctx context.Context, pods []*corev1.Pod) ([]words.Agent, error) {
	all := make([]words.Agent, len(pods))
	for i, pod := range pods {
		var err error
		if all[i], err = stateOf(ctx, pod); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// limitIn is the limit in force for payments.
func limitIn(agent words.Agent) int32 { return int32(agent.Bulkhead("payments").LimitInForce()) }

// limits are the limits in force for payments in the pods, in their order.
func limits(ctx context.Context, pods []*corev1.Pod) ([]int32, error) {
	states, err := statesOf(ctx, pods)
	all := make([]int32, len(states))
	for i, s := range states {
		all[i] = limitIn(s)
	}
	return all, err
}

// inForce waits until the limit for payments is in force in each of the pods.
func inForce(ctx context.Context, pods []*corev1.Pod, limit int32) {
	GinkgoHelper()
	Eventually(limits).WithContext(ctx).WithArguments(pods).Should(HaveEach(limit))
}

// burst sends calls to a shop's pod, all at once, and counts their answers by status.
func burst(ctx context.Context, pod *corev1.Pod, calls int) map[int]int {
	GinkgoHelper()
	statuses, errs := make([]int, calls), make([]error, calls)
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() { statuses[i], _, errs[i] = ask(ctx, pod, shopPort, "/buy") })
	}
	all.Wait()
	Expect(errs).To(HaveEach(BeNil()))
	count := map[int]int{}
	for _, status := range statuses {
		count[status]++
	}
	return count
}

// serviceURL is the address of a Service. There is no need of a name for it.
func serviceURL(ctx context.Context, namespace, name string) string {
	GinkgoHelper()
	var s corev1.Service
	Expect(cluster.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)).To(Succeed())
	return "http://" + net.JoinHostPort(s.Spec.ClusterIP, "80")
}
