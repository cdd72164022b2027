// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/controllers/internal/answer"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// edit patches a ConfigMap as somebody with kubectl would.
func edit(ctx context.Context, object *corev1.ConfigMap, changes ...func(*corev1.ConfigMap)) {
	GinkgoHelper()
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	before := object.DeepCopy()
	for _, change := range changes {
		change(object)
	}
	Expect(admin.Patch(ctx, object, client.MergeFrom(before), client.FieldOwner("kubectl-edit"))).To(Succeed())
}

// write puts a text under our key.
func write(text string) func(*corev1.ConfigMap) {
	return func(object *corev1.ConfigMap) { object.Data = map[string]string{bulkheadconfig.Key: text} }
}

// writes counts the writes of a ConfigMap from the state that object shows.
func writes(ctx context.Context, object *corev1.ConfigMap) (count func() int32) {
	GinkgoHelper()
	watcher, err := admin.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(object.Namespace),
		client.MatchingFields{"metadata.name": object.Name},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: object.ResourceVersion}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(watcher.Stop)
	var n atomic.Int32
	go func() {
		for range watcher.ResultChan() {
			n.Add(1)
		}
	}()
	return n.Load
}

// staysRestored expects that an edit was answered by one write and one event.
func staysRestored(ctx context.Context, object *corev1.ConfigMap, count func() int32, note string) {
	GinkgoHelper()
	Eventually(eventsOf(ctx, object)).Should(HaveExactElements(note))
	Eventually(count).Should(BeEquivalentTo(2), "the edit and what restored it")
	Consistently(eventsOf(ctx, object)).Should(HaveExactElements(note))
	Expect(count()).To(BeEquivalentTo(2))
}

var _ = Describe("A ConfigMap of ours", func() {
	var (
		namespace string
		payments  *v1alpha1.ServiceBulkhead
		object    *corev1.ConfigMap
		good      string
	)

	BeforeEach(func(ctx context.Context) {
		namespace = newNamespace(ctx)
		startManager(namespace)
		payments = create(ctx, namespace, "payments")
		Eventually(state(ctx, payments)).Should(bePublished())
		object = mapOf(namespace)
		Expect(look(ctx, object)()).NotTo(BeNil())
		good = object.Data[bulkheadconfig.Key]
	})

	DescribeTable("O10: edited by hand, is restored once, with one event",
		func(ctx context.Context, text func(string) string) {
			count := writes(ctx, object)
			edit(ctx, object, write(text(good)))
			Eventually(look(ctx, object)).Should(HaveField("Data", HaveKeyWithValue(bulkheadconfig.Key, good)))
			staysRestored(ctx, object, count, "Restored: put back bulkheads.v1.json, which kubectl-edit had changed")
		},
		Entry("a value", func(s string) string { return strings.Replace(s, `"limit": 25`, `"limit": 26`, 1) }),
		Entry("the layout", func(s string) string { return strings.ReplaceAll(s, "  ", "\t") }),
		Entry("the revision", func(s string) string { return strings.Replace(s, `"revision": "`, `"revision": "0`, 1) }),
		Entry("cut off", func(s string) string { return s[:len(s)/2] }),
		Entry("emptied", func(string) string { return "" }),
	)

	It("O10: gets its key back, once, with one event", func(ctx context.Context) {
		count := writes(ctx, object)
		edit(ctx, object, func(object *corev1.ConfigMap) { object.Data = map[string]string{"theirs": "1"} })
		Eventually(look(ctx, object)).Should(HaveField("Data", Equal(map[string]string{
			bulkheadconfig.Key: good, "theirs": "1",
		})))
		staysRestored(ctx, object, count, "Restored: put back bulkheads.v1.json, which was missing")
	})

	It("O10: gets its label back, once, with one event", func(ctx context.Context) {
		count := writes(ctx, object)
		edit(ctx, object, func(object *corev1.ConfigMap) { object.Labels = nil })
		Eventually(look(ctx, object)).Should(HaveField("Labels", HaveKeyWithValue(ManagedLabel, "true")))
		staysRestored(ctx, object, count, "Restored: put back the label servicebulkhead.io/managed, which was missing")
		update(ctx, payments, limit(50))
		Eventually(limits(ctx, namespace)).Should(Equal(map[string]int{"payments": 50}))
	})

	It("keeps what others put into it", func(ctx context.Context) {
		edit(ctx, object, func(object *corev1.ConfigMap) {
			object.Labels["theirs"], object.Annotations = "1", map[string]string{"theirs": "2"}
			object.Data["theirs"], object.BinaryData = "3", map[string][]byte{"theirs.bin": {4}}
			object.Finalizers = []string{"example.com/theirs"}
		})
		DeferCleanup(func(ctx context.Context) {
			edit(ctx, object, func(object *corev1.ConfigMap) { object.Finalizers = nil })
		})
		update(ctx, payments, limit(50))
		Eventually(limits(ctx, namespace)).Should(Equal(map[string]int{"payments": 50}))
		Expect(look(ctx, object)()).To(And(
			HaveField("Labels", HaveKeyWithValue("theirs", "1")),
			HaveField("Annotations", HaveKeyWithValue("theirs", "2")),
			HaveField("Data", HaveKeyWithValue("theirs", "3")),
			HaveField("BinaryData", HaveKeyWithValue("theirs.bin", []byte{4})),
			HaveField("Finalizers", ConsistOf("example.com/theirs")),
		))
	})

	It("is created again when somebody deletes it", func(ctx context.Context) {
		uid := object.UID
		Expect(admin.Delete(ctx, object)).To(Succeed())
		Eventually(look(ctx, mapOf(namespace))).Should(And(
			HaveField("UID", Not(Equal(uid))),
			HaveField("Data", HaveKeyWithValue(bulkheadconfig.Key, good)),
		))
		Eventually(state(ctx, payments)).Should(bePublished())
	})

	It("is not overwritten by whoever saw it before its last change", func(ctx context.Context) {
		key, before := client.ObjectKeyFromObject(object), observe(object.DeepCopy())
		update(ctx, payments, limit(50))
		Eventually(limits(ctx, namespace)).Should(Equal(map[string]int{"payments": 50}))
		err := (&reconciler{client: admin}).put(ctx, key, before, document(GinkgoTB(), services{"payments": entry(7)}))
		Expect(err).To(Satisfy(overtaken))
		Expect(limits(ctx, namespace)(NewWithT(GinkgoTB()))).To(Equal(map[string]int{"payments": 50}))
	})

	It("is taken over from a restore, and emptied when its last bulkhead goes", func(ctx context.Context) {
		edit(ctx, object, func(object *corev1.ConfigMap) { object.ManagedFields = []metav1.ManagedFieldsEntry{{}} })
		Eventually(look(ctx, object)).Should(Satisfy(func(object *corev1.ConfigMap) bool { return observe(object).written() }))
		Expect(object.Data).To(HaveKeyWithValue(bulkheadconfig.Key, good))
		Consistently(eventsOf(ctx, object)).Should(BeEmpty())

		Expect(admin.Delete(ctx, payments)).To(Succeed())
		Eventually(limits(ctx, namespace)).Should(BeEmpty())
	})

	It("that is immutable waits for a person, with the old values", func(ctx context.Context) {
		edit(ctx, object, func(object *corev1.ConfigMap) { object.Immutable = new(true) })
		neighbour := create(ctx, namespace, "search")
		Eventually(state(ctx, neighbour)).Should(Equal(
			"Accepted=True/Accepted Ready=False/ConfigMapImmutable Stalled=True/ConfigMapImmutable "))
		Expect(state(ctx, payments)(NewWithT(GinkgoTB()))).To(bePublished())

		update(ctx, payments, limit(50))
		Eventually(state(ctx, payments)).Should(Equal(
			"Accepted=True/Accepted Ready=False/ConfigMapImmutable Stalled=True/ConfigMapImmutable " +
				"service-bulkheads@" + entry(25).Revision()))

		Expect(admin.Delete(ctx, object)).To(Succeed())
		Eventually(state(ctx, payments)).Should(bePublished())
		Eventually(state(ctx, neighbour)).Should(bePublished())
	})

	It("O12: without room for another bulkhead keeps what it has", func(ctx context.Context) {
		filler := strings.Repeat("x", maxConfigMapData-len(good)-100)
		edit(ctx, object, func(object *corev1.ConfigMap) { object.Data["theirs"] = filler })
		search := create(ctx, namespace, "search")
		Eventually(state(ctx, search)).Should(Equal(
			"Accepted=False/DocumentFull Ready=False/DocumentFull Stalled=True/DocumentFull "))
		Expect(limits(ctx, namespace)(NewWithT(GinkgoTB()))).To(Equal(map[string]int{"payments": 25}))

		edit(ctx, object, func(object *corev1.ConfigMap) { delete(object.Data, "theirs") })
		Eventually(state(ctx, search)).Should(bePublished())
	})
})

var _ = Describe("A ConfigMap that is somebody else's", func() {
	It("is never touched, until it is handed over", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		object := mapOf(namespace)
		object.Data = map[string]string{"theirs": "1"}
		Expect(admin.Create(ctx, object)).To(Succeed())
		version := object.ResourceVersion

		startManager(namespace)
		payments := create(ctx, namespace, "payments")
		Eventually(state(ctx, payments)).Should(Equal(
			"Accepted=True/Accepted Ready=False/ConfigMapConflict Stalled=True/ConfigMapConflict "))
		Eventually(eventsOf(ctx, payments)).Should(ConsistOf(HavePrefix("ConfigMapConflict: ")))
		update(ctx, payments, limit(50))
		Eventually(state(ctx, payments)).Should(HaveSuffix("ConfigMapConflict "))
		Consistently(look(ctx, object)).Should(HaveField("ResourceVersion", version))

		edit(ctx, object, func(object *corev1.ConfigMap) { object.Labels = map[string]string{ManagedLabel: "true"} })
		Eventually(state(ctx, payments)).Should(bePublished())
		Expect(look(ctx, object)()).To(HaveField("Data", HaveKeyWithValue("theirs", "1")))
	})

	It("is not written when it took the place of ours a moment ago", func(ctx context.Context) {
		object := mapOf(newNamespace(ctx))
		key, desired := client.ObjectKeyFromObject(object), document(GinkgoTB(), services{"payments": entry(25)})
		none, gone := observe(nil), observe(configMap(GinkgoTB(), "{}"))
		r := &reconciler{client: admin}

		Expect(r.put(ctx, key, gone, desired)).To(Satisfy(apierrors.IsConflict), "deleted meanwhile")
		Expect(admin.Create(ctx, object)).To(Succeed())
		version := object.ResourceVersion
		Expect(r.put(ctx, key, none, desired)).To(Satisfy(apierrors.IsAlreadyExists), "created meanwhile")
		Expect(r.put(ctx, key, gone, desired)).To(Satisfy(answer.Replaced), "deleted and created meanwhile")
		Expect(look(ctx, object)()).To(HaveField("ResourceVersion", version))
	})

	DescribeTable("is left alone when it has our label, and no bulkhead names it",
		func(ctx context.Context, all services) {
			namespace := newNamespace(ctx)
			startManager(namespace)
			object := mapOf(namespace)
			object.Labels = map[string]string{ManagedLabel: "true"}
			if all != nil {
				write(document(GinkgoTB(), all).text)(object)
			}
			Expect(admin.Create(ctx, object)).To(Succeed())
			version := object.ResourceVersion
			Consistently(look(ctx, object)).Should(HaveField("ResourceVersion", version))
		},
		Entry("and nothing else", nil),
		Entry("and our key, as a copy does", services{"payments": entry(25)}),
	)
})

var _ = Describe("A ConfigMap that the API server refuses to write", func() {
	It("is told to its bulkheads, and written when it may be", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "no-more"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceConfigMaps: resource.MustParse("0")}},
		}
		Expect(admin.Create(ctx, quota)).To(Succeed())
		Eventually(look(ctx, quota)).Should(HaveField("Status.Hard", HaveKey(corev1.ResourceConfigMaps)))
		startManager(namespace)
		payments := create(ctx, namespace, "payments")
		Eventually(state(ctx, payments)).Should(Equal(
			"Accepted=True/Accepted Ready=False/ConfigMapRefused Stalled=True/ConfigMapRefused "))
		Expect(meta.FindStatusCondition(payments.Status.Conditions, v1alpha1.ConditionReady).Message).To(And(
			HavePrefix("the API server refuses to write ConfigMap service-bulkheads: "), ContainSubstring("exceeded quota: no-more")))
		Eventually(eventsOf(ctx, payments)).Should(ConsistOf(HavePrefix("ConfigMapRefused: ")))

		Expect(admin.Delete(ctx, quota)).To(Succeed())
		Eventually(state(ctx, payments)).WithTimeout(2 * retryMost).Should(bePublished())
	})
})
