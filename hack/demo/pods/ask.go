// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
)

// Ports of the programs.
const (
	shopPort     = "8080"
	paymentsPort = "8082"
	loadPort     = "8083"
)

const appLabel = "app.kubernetes.io/name"

// ask sends a GET to a pod, through the API server. What the pod does not answer well
// is an error.
func (s *stage) ask(ctx context.Context, pod, port, path string, query map[string]string) ([]byte, error) {
	answer, err := s.set.CoreV1().Pods(story.Namespace).ProxyGet("http", pod, port, path, query).DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask pod %s for %s: %w", pod, path, err)
	}
	return answer, nil
}

// askFor is ask for an answer in JSON.
func (s *stage) askFor(ctx context.Context, pod, port, path string, query map[string]string, into any) error {
	answer, err := s.ask(ctx, pod, port, path, query)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("pod %s, %s: %w", pod, path, err)
	}
	return nil
}

// agent asks a pod of the shop for the state of its agent.
func (s *stage) agent(ctx context.Context, pod string) (a words.Agent, err error) {
	return a, s.askFor(ctx, pod, shopPort, "debug/bulkheads", map[string]string{"format": "json"}, &a)
}

// stats asks payments what it saw.
func (s *stage) stats(ctx context.Context) (now words.Payments, err error) {
	return now, s.askFor(ctx, s.payments, paymentsPort, "stats", nil, &now)
}

// setLatency changes how long calls of payments take on average.
func (s *stage) setLatency(ctx context.Context, latency string) error {
	_, err := s.ask(ctx, s.payments, paymentsPort, "latency", map[string]string{"d": latency})
	return err
}

// resetPeak makes payments forget how many calls it had at once.
func (s *stage) resetPeak(ctx context.Context) error {
	_, err := s.ask(ctx, s.payments, paymentsPort, "reset", nil)
	return err
}

// report asks the load what it saw.
func (s *stage) report(ctx context.Context) (r words.Load, err error) {
	return r, s.askFor(ctx, s.load, loadPort, "report", nil, &r)
}

// setRate lets the load send so many requests a second from now on.
func (s *stage) setRate(ctx context.Context, perSecond string) error {
	_, err := s.ask(ctx, s.load, loadPort, "rate", map[string]string{"rps": perSecond})
	return err
}

// pods returns the pods of an application that are not on their way out, by name.
func (s *stage) pods(ctx context.Context, app string) ([]corev1.Pod, error) {
	list, err := s.set.CoreV1().Pods(story.Namespace).List(ctx, metav1.ListOptions{LabelSelector: appLabel + "=" + app})
	if err != nil {
		return nil, err
	}
	pods := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, nil
}

// names are the names of an application's pods.
func (s *stage) names(ctx context.Context, app string) ([]string, error) {
	pods, err := s.pods(ctx, app)
	names := make([]string, len(pods))
	for i, pod := range pods {
		names[i] = pod.Name
	}
	return names, err
}

// onlyPod is the name of the one pod of an application.
func (s *stage) onlyPod(ctx context.Context, app string) (string, error) {
	names, err := s.names(ctx, app)
	if err == nil && len(names) != 1 {
		err = fmt.Errorf("%s has %d pods, should have one", app, len(names))
	}
	if err != nil {
		return "", err
	}
	return names[0], nil
}
