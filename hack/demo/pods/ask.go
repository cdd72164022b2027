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

// agentState is what a shop's agent tells at /debug/bulkheads.
type agentState struct {
	Source   struct{ Revision string }
	Services []serviceState
}

type serviceState struct {
	Name              string
	Limit             *int
	InFlight, Waiting int
	Counts            counts
}

// counts are answers of a bulkhead since the process began.
type counts struct{ Admitted, Saturated int }

// bulkhead is the bulkhead "payments" of one pod at one moment.
type bulkhead struct {
	revision                 string
	limit, inFlight, waiting int
	counts
}

// unlimited is the limit of a service that no document lists.
const unlimited = -1

func (a agentState) bulkhead() bulkhead {
	b := bulkhead{revision: a.Source.Revision, limit: unlimited}
	for _, service := range a.Services {
		if service.Name != story.Bulkhead {
			continue
		}
		if service.Limit != nil {
			b.limit = *service.Limit
		}
		b.inFlight, b.waiting, b.counts = service.InFlight, service.Waiting, service.Counts
	}
	return b
}

// bulkhead asks a pod of the shop.
func (s *stage) bulkhead(ctx context.Context, pod string) (bulkhead, error) {
	var state agentState
	err := s.askFor(ctx, pod, shopPort, "debug/bulkheads", map[string]string{"format": "json"}, &state)
	return state.bulkhead(), err
}

// stats is what payments saw: how many calls it has now, and had at most at once.
type stats struct {
	InFlight, Peak int
}

func (s *stage) stats(ctx context.Context) (now stats, err error) {
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

// outcomes are requests by what became of them.
type outcomes struct{ OK, Shed, TimedOut, Failed int }

// report is what the load saw.
type report struct {
	Sent, InFlight int
	outcomes
	ByPod    map[string]outcomes
	Failures []struct{ At, Error, Took, Pod string }
}

func (s *stage) report(ctx context.Context) (r report, err error) {
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
