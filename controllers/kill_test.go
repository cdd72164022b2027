// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

var _ = Describe("An operator", func() {
	It("converges to the same bytes however often it is killed", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 1))
		settle := stir(ctx, namespace)
		var rivals []string
		for round := range 8 {
			// Half of the rounds end right after a ConfigMap was written, before the
			// statuses are; the other half in the midst of these.
			wrote := configMapWritten(ctx, namespace)
			if round%2 == 1 {
				wrote = statusWritten(ctx, namespace)
			}
			operator := startProcess(namespace)
			wrote(1 + random.IntN(6))
			if round%2 == 0 {
				rivals = append(rivals, contest(ctx, namespace, round, operator))
			}
			operator.Kill().Wait()
		}
		settle()

		operator := startProcess(namespace)
		var bulkheads v1alpha1.ServiceBulkheadList
		Eventually(func(g Gomega) {
			g.Expect(admin.List(ctx, &bulkheads, client.InNamespace(namespace))).To(Succeed())
			for _, b := range bulkheads.Items {
				g.Expect(b.Status.ObservedGeneration).To(Equal(b.Generation))
				if slices.Contains(rivals, b.Name) {
					g.Expect(summary(b.Status)).To(HavePrefix("Accepted=False/ServiceConflict "))
				} else {
					g.Expect(summary(b.Status)).To(bePublished(), b.Name)
				}
			}
			bulkheads.Items = slices.DeleteFunc(bulkheads.Items, func(b v1alpha1.ServiceBulkhead) bool {
				return slices.Contains(rivals, b.Name)
			})
			object, err := look(ctx, mapOf(namespace))()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(object.Data).To(HaveKeyWithValue(bulkheadconfig.Key, fresh(bulkheads.Items)))
		}).Should(Succeed())
		Expect(operator.complaints()).To(BeEmpty())
		operator.Terminate()
		Eventually(operator).Should(gexec.Exit(0))
	})

	It("leads while it holds its lease, and gives it back on SIGTERM", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		leader := startProcess(namespace, "--leader-elect", "--leader-election-namespace="+systemNamespace)
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: LeaderElectionID}}
		Eventually(look(ctx, lease)).Should(HaveField("Spec.HolderIdentity", HaveValue(Not(BeEmpty()))))
		payments := create(ctx, namespace, "payments")
		Eventually(state(ctx, payments)).Should(bePublished())
		Eventually(eventsOf(ctx, payments)).Should(HaveLen(1)) // client-go logs an event that it cannot send any more

		leader.Terminate()
		Eventually(leader).Should(gexec.Exit(0))
		Expect(look(ctx, lease)()).To(HaveField("Spec.HolderIdentity", HaveValue(BeEmpty())))
		Expect(leader.complaints()).To(BeEmpty())
	})
})

var _ = Describe("An operator that is asked to end", func() {
	It("in the midst of work leaves it to the next, in time and without a complaint", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		settle := stir(ctx, namespace)
		for range 3 {
			wrote := configMapWritten(ctx, namespace)
			operator := startProcess(namespace)
			wrote(2)
			began := time.Now()
			operator.Terminate()
			Eventually(operator).Should(gexec.Exit(0))
			Expect(time.Since(began)).To(BeNumerically("<", gracefulShutdown))
			Expect(operator.complaints()).To(BeEmpty())
		}
		settle()
	})
})

// contest kills the operator when the document holds a new service and most likely
// no status tells for whom, and only then creates a rival, which it returns. By age,
// to the second, and by name the service would be the rival's.
func contest(ctx context.Context, namespace string, round int, operator *process) (rival string) {
	GinkgoHelper()
	name := fmt.Sprintf("zz-%d", round) // the last in the document, and the last to get its status
	wrote := serviceWritten(ctx, namespace, name)
	create(ctx, namespace, name)
	wrote(1)
	operator.Kill().Wait()
	return create(ctx, namespace, fmt.Sprintf("a-%d", round), service(name), limit(7)).Name
}

// fresh is the document that the same objects would give if they were all new.
func fresh(bulkheads []v1alpha1.ServiceBulkhead) string {
	GinkgoHelper()
	for i := range bulkheads {
		bulkheads[i].Status = v1alpha1.ServiceBulkheadStatus{}
	}
	desired, err := render(v1alpha1.Judge(bulkheads, nil, roomy))
	Expect(err).NotTo(HaveOccurred())
	return desired.text
}

// stir creates, changes and deletes bulkheads at random until settle is called.
func stir(ctx context.Context, namespace string) (settle func()) {
	random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 2))
	var stirring sync.WaitGroup
	stop := make(chan struct{})
	stirring.Go(func() {
		defer GinkgoRecover()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				stirOnce(ctx, namespace, random)
			}
		}
	})
	settle = sync.OnceFunc(func() { close(stop); stirring.Wait() })
	DeferCleanup(settle)
	return settle
}

// stirOnce does one random thing to one of six bulkheads. The first is never
// deleted.
func stirOnce(ctx context.Context, namespace string, random *rand.Rand) {
	GinkgoHelper()
	n := random.IntN(6)
	b := bulkhead(fmt.Sprintf("service-%d", n), limit(random.Int32N(1000)))
	b.Namespace = namespace
	var err error
	if n > 0 && random.IntN(4) == 0 {
		err = client.IgnoreNotFound(admin.Delete(ctx, &b))
	} else if err = admin.Create(ctx, &b); apierrors.IsAlreadyExists(err) {
		patch := fmt.Sprintf(`{"spec":{"limit":%d}}`, *b.Spec.Limit)
		err = admin.Patch(ctx, &b, client.RawPatch(types.MergePatchType, []byte(patch)))
	}
	Expect(err).NotTo(HaveOccurred())
}

// configMapWritten returns a function that waits until the ConfigMap has been
// written n times.
func configMapWritten(ctx context.Context, namespace string) (wait func(n int)) {
	return seen(ctx, namespace, &corev1.ConfigMapList{}, func(object *corev1.ConfigMap) bool {
		return object.Name == v1alpha1.DefaultConfigMapName
	})
}

// serviceWritten does the same for the first time that it holds a service.
func serviceWritten(ctx context.Context, namespace, service string) (wait func(n int)) {
	return seen(ctx, namespace, &corev1.ConfigMapList{}, func(object *corev1.ConfigMap) bool {
		_, ok := observe(object).document.Services[service]
		return ok
	})
}

// statusWritten does the same for the statuses.
func statusWritten(ctx context.Context, namespace string) (wait func(n int)) {
	return seen(ctx, namespace, &v1alpha1.ServiceBulkheadList{}, func(b *v1alpha1.ServiceBulkhead) bool {
		return b.Status.ObservedGeneration == b.Generation
	})
}

// seen waits for n changes, from now on, of objects that pass.
func seen[T client.Object](ctx context.Context, namespace string, list client.ObjectList, pass func(T) bool) func(n int) {
	GinkgoHelper()
	Expect(admin.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	watcher, err := admin.Watch(ctx, list, client.InNamespace(namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}})
	Expect(err).NotTo(HaveOccurred())
	return func(n int) {
		GinkgoHelper()
		defer watcher.Stop()
		for n > 0 {
			var e watch.Event
			Eventually(watcher.ResultChan()).Should(Receive(&e))
			if object, ok := e.Object.(T); ok && e.Type != watch.Deleted && pass(object) {
				n--
			}
		}
	}
}
