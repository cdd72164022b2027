// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// get reads a bulkhead as a GitOps tool does, which knows no types of ours.
func get(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error) {
	client, err := dynamic.NewForConfig(plane.Config)
	if err != nil {
		return nil, err
	}
	return client.Resource(v1alpha1.GroupVersion.WithResource("servicebulkheads")).Namespace(namespace).
		Get(ctx, name, metav1.GetOptions{})
}

// configMap reads the ConfigMap that bulkheads name by default.
func configMap(ctx context.Context, namespace string) (*corev1.ConfigMap, error) {
	client, err := kubernetes.NewForConfig(plane.Config)
	if err != nil {
		return nil, err
	}
	return client.CoreV1().ConfigMaps(namespace).Get(ctx, v1alpha1.DefaultConfigMapName, metav1.GetOptions{})
}

// health states of a bulkhead: what kstatus computes, and what Argo CD shows.
const (
	inProgress  = "InProgress, Progressing"
	current     = "Current, Healthy"
	failed      = "Failed, Degraded"
	terminating = "Terminating, Progressing"
	gone        = "NotFound"
)

// state asks kstatus and the script about a bulkhead as it is now.
func state(ctx context.Context, namespace, name string) func(Gomega) string {
	return func(g Gomega) string {
		object, err := get(ctx, namespace, name)
		if apierrors.IsNotFound(err) {
			return gone
		}
		g.Expect(err).NotTo(HaveOccurred())
		computed, err := status.Compute(object)
		g.Expect(err).NotTo(HaveOccurred())
		shown, err := runScript(ctx, object)
		g.Expect(err).NotTo(HaveOccurred())
		return fmt.Sprintf("%s, %s", computed.Status, shown.Status)
	}
}

// limits reads the document: limits by service.
func limits(ctx context.Context, namespace string) func(Gomega) map[string]int {
	return func(g Gomega) map[string]int {
		object, err := configMap(ctx, namespace)
		g.Expect(err).NotTo(HaveOccurred())
		return limitsIn(g, object)
	}
}

func limitsIn(g Gomega, object *corev1.ConfigMap) map[string]int {
	doc, err := bulkheadconfig.Decode([]byte(object.Data[bulkheadconfig.Key]))
	g.Expect(err).NotTo(HaveOccurred())
	all := map[string]int{}
	for service, entry := range doc.Services {
		all[service] = entry.Limit
	}
	return all
}

// versions are the resourceVersions of everything that the operator may write.
func versions(ctx context.Context, namespace string) func(Gomega) map[string]string {
	return func(g Gomega) map[string]string {
		client, err := dynamic.NewForConfig(plane.Config)
		g.Expect(err).NotTo(HaveOccurred())
		all := map[string]string{}
		list, err := client.Resource(v1alpha1.GroupVersion.WithResource("servicebulkheads")).Namespace(namespace).
			List(ctx, metav1.ListOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		for _, object := range list.Items {
			all[object.GetName()] = object.GetResourceVersion()
		}
		object, err := configMap(ctx, namespace)
		g.Expect(err).NotTo(HaveOccurred())
		all["ConfigMap"] = object.ResourceVersion
		return all
	}
}
