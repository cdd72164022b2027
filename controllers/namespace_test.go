// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// goes waits until a namespace is gone.
func goes(ctx context.Context, namespace string) {
	GinkgoHelper()
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	Expect(admin.Delete(ctx, object)).To(Succeed())
	Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(object), object) }).
		WithTimeout(3 * defaultTimeout).Should(Satisfy(apierrors.IsNotFound))
}

// populate publishes bulkheads in several ConfigMaps of a namespace.
func populate(ctx context.Context, namespace string) {
	GinkgoHelper()
	for i := range 9 {
		b := create(ctx, namespace, fmt.Sprintf("service-%d", i), func(b *v1alpha1.ServiceBulkhead) {
			b.Spec.ConfigMapName = fmt.Sprintf("m%d-bulkheads", i%3)
		})
		Eventually(state(ctx, b)).Should(ContainSubstring("Ready=True"))
	}
}

var _ = Describe("A namespace", func() {
	It("O22: goes while the operator runs, which does not complain", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		operator := startProcess(namespace)
		populate(ctx, namespace)
		goes(ctx, namespace)
		Expect(operator.complaints()).To(BeEmpty())
	})

	It("O22: keeps its documents when everything is uninstalled in the order of the README, and goes", func(ctx context.Context) {
		other := startPlane(ctx) // the specs beside this one still need the CRD
		kubeconfig := install(ctx, other, "../config/default")
		operator := startProcess("shop", "--kubeconfig="+kubeconfig)
		kubectl(ctx, other, "apply", "-f", "../config/samples")
		kubectl(ctx, other, "-n", "shop", "wait", "--for=condition=Ready", "sbh", "--all", "--timeout=20s")
		documents := func() string {
			return kubectl(ctx, other, "-n", "shop", "get", "configmaps", "-l", ManagedLabel+"="+managedValue, "-o", "jsonpath={.items[*].data}")
		}
		before := documents()
		Expect(before).To(And(ContainSubstring("payments"), ContainSubstring("search")))

		kubectl(ctx, other, "delete", "-k", "../config/manager", "--timeout=60s")
		kubectl(ctx, other, "-n", systemNamespace, "wait", "--for=delete", "pod",
			"-l", "app.kubernetes.io/component=operator", "--timeout=60s")
		operator.Terminate() // it runs beside the test, in the place of those pods
		Eventually(operator).Should(gexec.Exit(0))
		kubectl(ctx, other, "delete", "-k", "../config/rbac", "--ignore-not-found", "--timeout=60s")
		kubectl(ctx, other, "delete", "-k", "../config/crd", "--timeout=60s")
		Expect(documents()).To(Equal(before))
		kubectl(ctx, other, "delete", "namespace", "shop", "--timeout=60s")
	})

	It("O14: whose labels somebody edits all the time converges without a complaint", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		operator := startProcess(namespace)
		payments := create(ctx, namespace, "payments")
		Eventually(state(ctx, payments)).Should(bePublished())

		var editors sync.WaitGroup
		for _, object := range []client.Object{mapOf(namespace), payments.DeepCopy()} {
			editors.Go(func() {
				defer GinkgoRecover()
				for i := range 100 {
					Expect(relabel(ctx, object, fmt.Sprint(i))).To(Succeed())
				}
			})
		}
		for i := range int32(20) {
			update(ctx, payments, limit(i))
		}
		editors.Wait()
		Eventually(limits(ctx, namespace)).Should(Equal(map[string]int{"payments": 19}))
		Eventually(state(ctx, payments)).Should(bePublished())
		Expect(operator.complaints()).To(BeEmpty())
		Eventually(eventsOf(ctx, payments)).Should(HaveLen(1))
		object, err := look(ctx, mapOf(namespace))()
		Expect(err).NotTo(HaveOccurred())
		Consistently(eventsOf(ctx, object)).Should(BeEmpty())
	})
})

// relabel replaces the whole object, as clients do that read, change and update.
func relabel(ctx context.Context, object client.Object, value string) error {
	patient := wait.Backoff{Steps: 200, Duration: 5 * time.Millisecond, Jitter: 1}
	return retry.RetryOnConflict(patient, func() error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["theirs"] = value
		object.SetLabels(labels)
		return admin.Update(ctx, object)
	})
}
