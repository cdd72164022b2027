// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func showNode(ctx context.Context, s *stage) error {
	if err := s.kubectl.Show(ctx, "get", "nodes"); err != nil {
		return err
	}
	nodes, err := s.set.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	ready := slices.DeleteFunc(nodes.Items, func(node corev1.Node) bool { return !nodeIsReady(node) })
	for _, node := range ready[:min(1, len(ready))] {
		s.Say("A real kubelet, with %s below it.", node.Status.NodeInfo.ContainerRuntimeVersion)
	}
	s.ExpectAtLeast("nodes that are Ready", len(ready), 1)
	return nil
}

func nodeIsReady(node corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func podIsReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func installOperator(ctx context.Context, s *stage) error {
	s.Command("kubectl kustomize config/overlays/nudge >" + operatorFile)
	if err := s.kubectl.Show(ctx, "apply", "-f", operatorFile); err != nil {
		return err
	}
	if _, err := s.kubectl.Run(ctx, "label", "namespace/"+systemNamespace, crd, madeLabel+"=true"); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"wait", "--for=condition=Established", crd},
		{"-n", systemNamespace, "wait", "--for=condition=Available", "--timeout=60s", "deployment/" + operatorName},
		{"-n", systemNamespace, "get", "pods"},
	} {
		if err := s.kubectl.Show(ctx, args...); err != nil {
			return err
		}
	}
	return s.checkRights(ctx)
}

// checkRights shows that the operator is no administrator.
func (s *stage) checkRights(ctx context.Context) error {
	operator := "--as=system:serviceaccount:" + systemNamespace + ":" + operatorName
	for _, question := range []struct {
		what, answer string
		args         []string
	}{
		{"the operator may annotate pods", "yes", []string{"patch", "pods", "--subresource=status"}},
		{"the operator may change what pods run", "no", []string{"patch", "pods"}},
		{"the operator may read Secrets", "no", []string{"get", "secrets"}},
	} {
		answer, err := s.kubectl.ShowCanI(ctx, append(question.args, "-A", operator)...)
		if err != nil {
			return err
		}
		s.ExpectEqual(question.what, answer, question.answer)
	}
	return nil
}
