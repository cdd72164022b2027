// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// suiteLabel is on the namespaces that the suite made, the operator's among them.
const suiteLabel = "e2e.servicebulkhead.io/suite"

// newNamespace makes a namespace that enforces the restricted Pod Security Standard
// and goes, with all that is in it, when the spec or the container that made it ends.
// Nobody waits for that.
func newNamespace(ctx context.Context, name string) string {
	GinkgoHelper()
	namespace := lastingNamespace(ctx, name)
	if !keep() {
		DeferCleanup(func(ctx context.Context) {
			err := cluster.set.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})
			Expect(client.IgnoreNotFound(err)).To(Succeed())
		})
	}
	return namespace
}

// lastingNamespace makes such a namespace for the rest of the run.
func lastingNamespace(ctx context.Context, name string) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-" + name + "-",
		Labels:       map[string]string{suiteLabel: "true", "pod-security.kubernetes.io/enforce": "restricted"},
	}}
	Expect(cluster.client.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}

// keep says that everything is to be left as it is in the end.
func keep() bool { return setting("E2E_KEEP", "") != "" }

// What a failed spec leaves is shown at once: afterwards it is gone.
var _ = JustAfterEach(func(ctx context.Context) {
	if !CurrentSpecReport().Failed() {
		return
	}
	namespaces, err := cluster.set.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: suiteLabel})
	if err != nil {
		AddReportEntry("no state to show", err.Error())
		return
	}
	for _, namespace := range namespaces.Items {
		AddReportEntry("state of namespace "+namespace.Name, describe(ctx, namespace.Name), ReportEntryVisibilityFailureOrVerbose)
	}
})

// describe shows the pods of a namespace, what happened there, and the last lines
// that its pods wrote.
func describe(ctx context.Context, namespace string) string {
	var text strings.Builder
	show := func(args ...string) {
		output, err := runKubectl(ctx, "", append([]string{"-n", namespace}, args...)...)
		fmt.Fprintf(&text, "$ kubectl -n %s %s\n%s", namespace, strings.Join(args, " "), output)
		if err != nil {
			fmt.Fprintln(&text, err)
		}
	}
	show("get", "pods,configmaps,servicebulkheads", "-o", "wide")
	show("get", "events", "--sort-by=.lastTimestamp")
	pods, err := cluster.set.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return text.String() + err.Error()
	}
	for i, pod := range pods.Items {
		if i == 6 { // the others will say the same
			break
		}
		show("logs", "--tail=15", "--all-containers", pod.Name)
	}
	return text.String()
}
