// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patchLimit changes the limit of the bulkhead payments, as people do.
func patchLimit(ctx context.Context, namespace string, limit int32) {
	GinkgoHelper()
	kubectl(ctx, "-n", namespace, "patch", "servicebulkhead", "payments", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"limit":%d}}`, limit))
}

// poke touches pods, so that their kubelet looks at them, and at their volumes, now.
// Those that are gone need no touch.
func poke(ctx context.Context, pods []*corev1.Pod) error {
	for _, pod := range pods {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"e2e.servicebulkhead.io/sync":"%d"}}}`, time.Now().UnixNano())
		err := cluster.client.Patch(ctx, pod.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// restartOne deletes the first of the pods, and returns those that are ready then.
func restartOne(ctx context.Context, namespace string, pods []*corev1.Pod) []*corev1.Pod {
	GinkgoHelper()
	Expect(cluster.client.Delete(ctx, pods[0])).To(Succeed())
	now := ready(ctx, namespace, pods[0].Labels[appLabel], len(pods))
	Expect(now).NotTo(ContainElement(HaveField("Name", pods[0].Name)))
	return now
}

// containers tell one start of a pod's containers from another.
func containers(pod *corev1.Pod) (ids []string) {
	for _, c := range pod.Status.ContainerStatuses {
		ids = append(ids, fmt.Sprintf("%s, restarted %d times", c.ContainerID, c.RestartCount))
	}
	return ids
}

// since is how long ago something began, as people read it.
func since(began time.Time) time.Duration { return time.Since(began).Round(10 * time.Millisecond) }

// patchSpec does the same without the time that kubectl takes to start.
func patchSpec(ctx context.Context, namespace string, limit int32) {
	GinkgoHelper()
	Expect(trySpec(ctx, namespace, limit)).To(Succeed())
}

func trySpec(ctx context.Context, namespace string, limit int32) error {
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"limit":%d}}`, limit))
	return cluster.client.Patch(ctx, bulkhead(namespace, "payments", limit), patch)
}
