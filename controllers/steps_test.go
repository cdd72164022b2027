// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// newNamespace makes a namespace that goes when the spec does.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-"}}
	Expect(admin.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx context.Context) error {
		return client.IgnoreNotFound(admin.Delete(ctx, namespace))
	})
	return namespace.Name
}

// startManager runs the controller in this process, for one namespace, until the
// spec ends or stop is called.
func startManager(namespace string, changes ...func(*Options)) (stop func()) {
	GinkgoHelper()
	o := Options{Namespaces: []string{namespace}}
	for _, change := range changes {
		change(&o)
	}
	options := ManagerOptions(o)
	options.Controller.SkipNameValidation = new(true) // there is one manager for each spec
	mgr, err := ctrl.NewManager(operatorConfig, options)
	Expect(err).NotTo(HaveOccurred())
	Expect(Setup(mgr, o)).To(Succeed())

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		Eventually(done).Should(Receive(Not(HaveOccurred())))
	})
	DeferCleanup(stop)
	return stop
}

// create stores a bulkhead of the fixtures.
func create(ctx context.Context, namespace, name string, options ...option) *v1alpha1.ServiceBulkhead {
	GinkgoHelper()
	b := bulkhead(name, options...)
	b.Namespace = namespace
	Expect(admin.Create(ctx, &b)).To(Succeed())
	return &b
}

// update patches a bulkhead.
func update(ctx context.Context, b *v1alpha1.ServiceBulkhead, options ...option) {
	GinkgoHelper()
	before := b.DeepCopy()
	for _, option := range options {
		option(b)
	}
	Expect(admin.Patch(ctx, b, client.MergeFrom(before))).To(Succeed())
}

// look reads an object again.
func look[T client.Object](ctx context.Context, object T) func() (T, error) {
	return func() (T, error) {
		return object, admin.Get(ctx, client.ObjectKeyFromObject(object), object)
	}
}

// mapOf is the ConfigMap that bulkheads name by default.
func mapOf(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.DefaultConfigMapName}}
}

// limits reads the document: limits by service.
func limits(ctx context.Context, namespace string) func(Gomega) map[string]int {
	return func(g Gomega) map[string]int {
		object := mapOf(namespace)
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		doc, err := bulkheadconfig.Decode([]byte(object.Data[bulkheadconfig.Key]))
		g.Expect(err).NotTo(HaveOccurred())
		all := map[string]int{}
		for name, s := range doc.Services {
			all[name] = s.Limit
		}
		return all
	}
}

// state reads a bulkhead's status as summary writes it, once it is about the
// present generation.
func state(ctx context.Context, b *v1alpha1.ServiceBulkhead) func(Gomega) string {
	return func(g Gomega) string {
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(b), b)).To(Succeed())
		g.Expect(b.Status.ObservedGeneration).To(Equal(b.Generation))
		return summary(b.Status)
	}
}

// bePublished matches the state of a bulkhead that pods can read.
func bePublished() gomegatypes.GomegaMatcher {
	return HavePrefix("Accepted=True/Accepted Ready=True/Published service-bulkheads@")
}

// resourceVersions notes every object of the namespace that the operator may
// write.
func resourceVersions(ctx context.Context, namespace string) map[string]string {
	GinkgoHelper()
	var maps corev1.ConfigMapList
	var bulkheads v1alpha1.ServiceBulkheadList
	Expect(admin.List(ctx, &maps, client.InNamespace(namespace))).To(Succeed())
	Expect(admin.List(ctx, &bulkheads, client.InNamespace(namespace))).To(Succeed())
	versions := map[string]string{}
	for _, object := range maps.Items {
		versions["ConfigMap "+object.Name] = object.ResourceVersion
	}
	for _, object := range bulkheads.Items {
		versions["ServiceBulkhead "+object.Name] = object.ResourceVersion
	}
	return versions
}

// eventsOf reads the events about an object: reason, and the note.
func eventsOf(ctx context.Context, object client.Object) func(Gomega) []string {
	return func(g Gomega) []string {
		g.Expect(object.GetUID()).NotTo(BeEmpty())
		var list eventsv1.EventList
		g.Expect(admin.List(ctx, &list, client.InNamespace(object.GetNamespace()))).To(Succeed())
		var found []string
		for _, e := range list.Items {
			if e.Regarding.UID == object.GetUID() {
				found = append(found, e.Reason+": "+e.Note)
				if e.Series != nil {
					found = append(found, "repeated")
				}
			}
		}
		slices.Sort(found)
		return found
	}
}
