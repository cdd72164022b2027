// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
)

func restartShop(ctx context.Context, s *stage) error {
	if err := s.setLatency(ctx, leisurely); err != nil {
		return err
	}
	s.Say("payments takes %s: at any moment some 30 calls are in flight.", leisurely)
	before, err := s.names(ctx, shopApp)
	if err != nil {
		return err
	}
	// What a kubelet says last of a pod goes away with the pod.
	events, err := s.set.CoreV1().Pods(story.Namespace).Watch(ctx, metav1.ListOptions{LabelSelector: appLabel + "=" + shopApp})
	if err != nil {
		return err
	}
	defer events.Stop()
	start, err := s.report(ctx)
	if err != nil {
		return err
	}
	if err := s.kubectl.Show(ctx, "-n", story.Namespace, "rollout", "restart", "deployment/"+shopApp); err != nil {
		return err
	}
	gone, err := s.awaitGone(ctx, events, before)
	if err != nil {
		return err
	}
	if err := s.available(ctx, shopApp); err != nil {
		return err
	}
	return s.balance(ctx, gone, start)
}

// awaitGone waits until the pods are gone, and returns them as they were in the end.
// Meanwhile it shows how far they are.
func (s *stage) awaitGone(ctx context.Context, events watch.Interface, names []string) ([]*corev1.Pod, error) {
	last, err := s.report(ctx)
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	begin := time.Now()
	var gone []*corev1.Pod
	for len(gone) < len(names) {
		select {
		case event, more := <-events.ResultChan():
			if !more {
				return nil, errors.New("the watch of pods has ended by itself")
			}
			if pod, ok := event.Object.(*corev1.Pod); ok && event.Type == watch.Deleted && slices.Contains(names, pod.Name) {
				gone = append(gone, pod)
			}
		case <-ticker.C:
			now, err := s.report(ctx)
			if err != nil {
				return nil, err
			}
			states, err := s.states(ctx)
			if err != nil {
				return nil, err
			}
			o := now.Minus(last.Counts)
			s.Line(fmt.Sprintf("  %4.1fs  %-44s  %4d sold  %4d shed  %4d failed", time.Since(begin).Seconds(), states, o.OK, o.Shed, o.Failed))
			last = now
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return gone, nil
}

// states says how many of the shop's pods are in which state.
func (s *stage) states(ctx context.Context) (string, error) {
	list, err := s.set.CoreV1().Pods(story.Namespace).List(ctx, metav1.ListOptions{LabelSelector: appLabel + "=" + shopApp})
	if err != nil {
		return "", err
	}
	return countStates(list.Items), nil
}

func countStates(pods []corev1.Pod) string {
	var starting, serving, ending int
	for _, pod := range pods {
		switch {
		case pod.DeletionTimestamp != nil:
			ending++
		case podIsReady(pod):
			serving++
		default:
			starting++
		}
	}
	return fmt.Sprintf("pods: %d starting, %d serving, %d draining", starting, serving, ending)
}
