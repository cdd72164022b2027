// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// calls are sent at once to see what becomes of those above the limit.
const calls = 12

// expectLimit proves that a limit holds in each of the pods: of many calls at once
// payments sees just so many at a time, and the others are shed.
func expectLimit(ctx context.Context, namespace string, pods []*corev1.Pod, limit int) {
	GinkgoHelper()
	for _, pod := range pods {
		answers, peak := overload(ctx, namespace, pod)
		Expect(peak).To(Equal(limit), "calls at a time that payments saw from %s", pod.Name)
		Expect(answers).To(HaveKey(http.StatusServiceUnavailable))
		Expect(answers[http.StatusOK]+answers[http.StatusServiceUnavailable]).To(Equal(calls), "%v", answers)
	}
}

// overload sends calls to a shop's pod all at once. It returns how many answers
// there were with each status, and how many calls payments saw at a time.
func overload(ctx context.Context, namespace string, pod *corev1.Pod) (answers map[int]int, peak int) {
	GinkgoHelper()
	service := ready(ctx, namespace, "payments", 1)[0]
	// Long enough that the first call is not over before the last has come.
	for _, path := range []string{"/latency?d=600ms", "/reset"} {
		_, err := get(ctx, service, paymentsPort, path)
		Expect(err).NotTo(HaveOccurred())
	}
	answers = burst(ctx, pod, calls)
	body, err := get(ctx, service, paymentsPort, "/stats")
	Expect(err).NotTo(HaveOccurred())
	var stats struct {
		Peak int `json:"peak"`
	}
	Expect(json.Unmarshal([]byte(body), &stats)).To(Succeed())
	return answers, stats.Peak
}
