// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/controllers/internal/answer"
)

// annotation is the patch that a nudge sends, with or without a uid.
func annotation(uid types.UID) string {
	who := ""
	if uid != "" {
		who = fmt.Sprintf(`"uid":%q,`, uid)
	}
	return `{"metadata":{` + who + `"annotations":{"revision.servicebulkhead.io/service-bulkheads":"0000000000000001"}}}`
}

// What the operator's own account may do to pods, with the rights of the overlay and
// under the guard that comes with it.
var _ = Describe("The operator's account, where it nudges", Ordered, func() {
	var (
		operator    client.Client
		one, silent *corev1.Pod
	)
	patch := func(ctx context.Context, c client.Writer, p *corev1.Pod, text string) error {
		return c.Patch(ctx, p.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text)))
	}
	patchStatus := func(ctx context.Context, p *corev1.Pod, text string) error {
		return operator.Status().Patch(ctx, p.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text)))
	}

	BeforeAll(func(ctx context.Context) {
		var err error
		operator, err = client.New(operatorConfig, client.Options{Scheme: newScheme()})
		Expect(err).NotTo(HaveOccurred())
		namespace := newNamespace(ctx)
		one, silent = running(ctx, namespace, "one"), running(ctx, namespace, "silent", unlabelledPod)
	})

	It("annotates a pod that asks for it", func(ctx context.Context) {
		Expect(patchStatus(ctx, one, annotation(one.UID))).To(Succeed())
		Expect(told(ctx, one)(NewWithT(GinkgoTB()))).NotTo(BeEmpty())
	})

	It("meets no other pod of the same name", func(ctx context.Context) {
		was := running(ctx, one.Namespace, "replaced")
		Expect(admin.Delete(ctx, was.DeepCopy())).To(Succeed())
		Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(was), was.DeepCopy()) }).Should(Satisfy(apierrors.IsNotFound))
		Expect(patchStatus(ctx, was, annotation(was.UID))).To(Satisfy(answer.Gone))
		now := running(ctx, one.Namespace, "replaced")
		Expect(patchStatus(ctx, was, annotation(was.UID))).To(Satisfy(answer.Replaced))
		Expect(told(ctx, now)(NewWithT(GinkgoTB()))).To(BeEmpty())
	})

	DescribeTable("is held back by the guard when it",
		func(ctx context.Context, which func() *corev1.Pod, text, says string) {
			err := patchStatus(ctx, which(), text)
			Expect(err).To(Satisfy(apierrors.IsForbidden))
			Expect(err).To(MatchError(And(ContainSubstring("servicebulkhead-guard-pods"), ContainSubstring(says))))
		},
		Entry("annotates a pod that does not ask for it", func() *corev1.Pod { return silent }, annotation(""), "only pods that ask for it"),
		Entry("writes another annotation", func() *corev1.Pod { return one }, `{"metadata":{"annotations":{"theirs":"1"}}}`, "writes only revision.servicebulkhead.io/"),
		Entry("labels a pod", func() *corev1.Pod { return one }, `{"metadata":{"labels":{"app":"none"}}}`, "nothing of a pod but its own annotation"),
		Entry("adds a finalizer", func() *corev1.Pod { return one }, `{"metadata":{"finalizers":["example.com/hold"]}}`, "nothing of a pod but its own annotation"),
		Entry("writes the status", func() *corev1.Pod { return one }, `{"status":{"phase":"Failed"}}`, "nothing of a pod but its own annotation"),
	)

	It("has no right to anything else of pods", func(ctx context.Context) {
		for what, err := range map[string]error{
			"get":    operator.Get(ctx, client.ObjectKeyFromObject(one), one.DeepCopy()),
			"patch":  patch(ctx, operator, one, annotation(one.UID)),
			"update": operator.Update(ctx, one.DeepCopy()),
			"delete": operator.Delete(ctx, one.DeepCopy()),
			"create": operator.Create(ctx, pod(one.Namespace, "more")),
			"evict":  operator.SubResource("eviction").Create(ctx, one.DeepCopy(), &policyv1.Eviction{}),
		} {
			Expect(err).To(MatchError(ContainSubstring("cannot ")), what) // so says RBAC
		}
	})

	It("goes on past a pod that the guard refuses, and says so once", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		operator := startProcess(namespace, "--nudge", "--nudge-rate=500")
		crowded := running(ctx, namespace, "crowded", func(p *corev1.Pod) {
			p.Annotations = map[string]string{}
			for i := range 1000 {
				p.Annotations[fmt.Sprint("note-", i)] = "theirs"
			}
		})
		for i := range 5 {
			running(ctx, namespace, fmt.Sprint("pod-", i))
		}
		Eventually(state(ctx, create(ctx, namespace, "payments"))).Should(bePublished())
		Eventually(allTold(ctx, namespace)).Should(Equal(map[string]int{revision(ctx, namespace): 5, "": 1}))
		Eventually(operator.metrics).WithContext(ctx).Should(
			HaveKeyWithValue("servicebulkhead_nudges_total", BeNumerically(">=", 5+3)), "it is tried again")
		Expect(told(ctx, crowded)(NewWithT(GinkgoTB()))).To(BeEmpty())
		complaints := operator.complaints()
		Expect(complaints).To(HaveLen(1))
		Expect(complaints[0]).To(And(ContainSubstring("annotates no pod that has 1,000 annotations"), ContainSubstring("in their kubelets' own time")))
		Expect(strings.Count(string(operator.Err.Contents()), "nudging pods")).To(Equal(1))
	}, NodeTimeout(time.Minute))
})
