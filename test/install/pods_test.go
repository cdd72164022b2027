// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/servicebulkhead/servicebulkhead/hack/localplane"
)

var _ = Describe("In a namespace that enforces the restricted Pod Security Standard", Ordered, func() {
	var (
		plane *localplane.Plane
		kube  kubernetes.Interface
	)
	create := func(ctx context.Context, namespace, dir string, change func(*corev1.PodSpec)) error {
		GinkgoHelper()
		var deployment appsv1.Deployment
		find(ctx, dir, "Deployment", operatorName, &deployment)
		spec := deployment.Spec.Template.Spec
		change(&spec)
		_, err := kube.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "operator-"}, Spec: spec,
		}, metav1.CreateOptions{})
		return err
	}
	asItIs := func(*corev1.PodSpec) {}

	BeforeAll(func(ctx context.Context) {
		plane = startPlane(ctx)
		var err error
		kube, err = kubernetes.NewForConfig(plane.Config)
		Expect(err).NotTo(HaveOccurred())
		kubectl(ctx, plane, "apply", "-k", root+"/config/rbac")
		kubectl(ctx, plane, "create", "namespace", "shop")
		kubectl(ctx, plane, "label", "namespace", "shop", "pod-security.kubernetes.io/enforce=restricted")
		kubectl(ctx, plane, "apply", "-k", root+"/config/overlays/namespaced/cluster")
		kubectl(ctx, plane, "apply", "-k", root+"/config/overlays/namespaced")
	}, NodeTimeout(30*time.Minute))

	It("the operator's pods are accepted, and are what the Deployment makes", func(ctx context.Context) {
		Expect(create(ctx, systemNamespace, "config/default", asItIs)).To(Succeed())
		Expect(create(ctx, "shop", "config/overlays/namespaced", asItIs)).To(Succeed())
		Eventually(func(ctx context.Context) string {
			return kubectl(ctx, plane, "-n", "shop", "get", "pods", "-l", "app.kubernetes.io/component=operator", "-o", "name")
		}).WithContext(ctx).Should(ContainSubstring("pod/" + operatorName))
	})

	DescribeTable("the same pods would be refused",
		func(ctx context.Context, change func(*corev1.PodSpec), says string) {
			Expect(create(ctx, systemNamespace, "config/default", change)).To(MatchError(ContainSubstring(says)))
		},
		Entry("as root", func(spec *corev1.PodSpec) { spec.SecurityContext.RunAsNonRoot = new(false) }, "runAsNonRoot"),
		Entry("without a seccomp profile", func(spec *corev1.PodSpec) { spec.SecurityContext.SeccompProfile = nil }, "seccompProfile"),
		Entry("with capabilities", func(spec *corev1.PodSpec) { spec.Containers[0].SecurityContext.Capabilities = nil }, "capabilities"),
		Entry("with a way to more rights", func(spec *corev1.PodSpec) {
			spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = nil
		}, "allowPrivilegeEscalation"),
	)
})
