// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/controllers"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// O18, VictoriaMetrics/operator#2608.
var _ = Describe("O18: an object stored under an older schema, which breaks newer rules", Serial, Ordered, func() {
	const namespace = "older"
	broken := map[string]map[string]any{
		"wait":   {"limit": int64(1), "maxWait": "2h", "reclaimAfter": "30s"},
		"limit":  {"limit": int64(100_000), "reclaimAfter": "30s"},
		"word":   {"limit": int64(1), "reclaimAfter": "30s", "onReclaim": "Kill"},
		"target": {"limit": int64(1), "reclaimAfter": "30s", "configMapName": "kube-root-ca.crt"},
		"window": {"limit": int64(1), "maxWait": "20s", "reclaimAfter": "10s"},
	}
	const (
		faulty = "wait"   // breaks a rule on one field, as most do
		across = "window" // breaks the rule that two fields are under
	)

	patch := func(ctx context.Context, name, text string) error {
		_, err := people.bulkheads(namespace).Patch(ctx, name, types.MergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	ready := func(name string) func(context.Context) string {
		return func(ctx context.Context) string { return condition(ctx, namespace, name, v1alpha1.ConditionReady) }
	}
	published := HavePrefix("True Published: ")

	BeforeAll(func(ctx context.Context) {
		makeNamespace(ctx, namespace)
		for _, name := range []string{"search", "kept"} {
			_, err := people.bulkheads(namespace).Create(ctx,
				object(name, map[string]any{"limit": int64(7), "reclaimAfter": "30s"}), metav1.CreateOptions{})
			Expect(err).NotTo(HaveOccurred())
		}
		stop := startOperator(ctx, namespace)
		Eventually(ready("kept")).WithContext(ctx).Should(published)
		stop()

		tooLong := object("probe", broken[faulty])
		relaxed := func(ctx context.Context) bool { return tryToCreate(ctx, tooLong) == nil }
		withSchema(ctx, relax, relaxed, func() {
			for name, spec := range broken {
				_, err := people.bulkheads(namespace).Create(ctx, object(name, spec), metav1.CreateOptions{})
				Expect(err).NotTo(HaveOccurred())
			}
			Expect(patch(ctx, "kept", `{"spec":{"limit":70000}}`)).To(Succeed())
		})
	})

	It("can still be read, labelled, and changed elsewhere", func(ctx context.Context) {
		list, err := people.bulkheads(namespace).List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(list.Items).To(HaveLen(len(broken) + 2))
		for name := range broken {
			By(name)
			Expect(patch(ctx, name, `{"metadata":{"labels":{"team":"shop"},"annotations":{"a":"b"}}}`)).To(Succeed())
			if name != across {
				Expect(patch(ctx, name, `{"spec":{"drainTimeout":"20s"}}`)).To(Succeed())
			}
		}
	})

	It("is asked to be mended first where two fields do not fit each other", func(ctx context.Context) {
		expectRefusals(patch(ctx, across, `{"spec":{"drainTimeout":"20s"}}`), []refusal{{"spec.reclaimAfter",
			"Invalid value: must be longer than spec.maxWait: otherwise waiting calls are admitted on top of calls that still run"}})
	})

	It("is refused a new value that breaks the rule too, in words", func(ctx context.Context) {
		expectRefusals(patch(ctx, faulty, `{"spec":{"maxWait":"3h"}}`), []refusal{{"spec.maxWait",
			`Invalid value: "3h": must be at most 60s: an unbounded wait is the pile-up that a bulkhead exists to prevent`}})
	})

	It("says so on its status, every other object still reconciles, and mended it is ready", func(ctx context.Context) {
		startOperator(ctx, namespace)
		for name := range broken {
			errs := v1alpha1.Validate(typed(object(name, broken[name])))
			Expect(errs).To(HaveLen(1))
			Eventually(ready(name)).WithContext(ctx).Should(HavePrefix("False Invalid: "+errs[0].Error()), name)
		}
		Eventually(ready("kept")).WithContext(ctx).Should(And(HavePrefix("False Invalid: spec.limit: "),
			HaveSuffix("; pods keep the last accepted values")))
		Expect(limits(ctx, namespace)).To(Equal(map[string]int{"search": 7, "kept": 7}))

		Expect(patch(ctx, "search", `{"spec":{"limit":8}}`)).To(Succeed())
		Expect(patch(ctx, faulty, `{"spec":{"maxWait":"50ms"}}`)).To(Succeed())
		Eventually(ready(faulty)).WithContext(ctx).Should(published)
		Eventually(limits).WithContext(ctx).WithArguments(namespace).Should(Equal(map[string]int{"search": 8, "kept": 7, faulty: 1}))
	})

	It("can be deleted", func(ctx context.Context) {
		for name := range broken {
			Expect(people.bulkheads(namespace).Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
		}
		Eventually(func(ctx context.Context) (int, error) {
			list, err := people.bulkheads(namespace).List(ctx, metav1.ListOptions{})
			return len(list.Items), err
		}).WithContext(ctx).Should(Equal(2))
	})
})

// startOperator runs the operator for one namespace, by its own account, until the
// spec ends or somebody stops it.
func startOperator(ctx context.Context, namespace string) (stop func()) {
	GinkgoHelper()
	o := controllers.Options{Namespaces: []string{namespace}}
	options := controllers.ManagerOptions(o)
	options.Logger = GinkgoLogr
	options.Controller.SkipNameValidation = new(true) // there are several, one after the other
	mgr, err := ctrl.NewManager(operatorConfig(ctx), options)
	Expect(err).NotTo(HaveOccurred())
	Expect(controllers.Setup(mgr, o)).To(Succeed())
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(running) }()
	stop = sync.OnceFunc(func() {
		cancel()
		Eventually(ended).Should(Receive(BeNil()))
	})
	DeferCleanup(stop)
	return stop
}

// condition returns a condition's status, reason and message.
func condition(ctx context.Context, namespace, name, kind string) string {
	u, err := people.bulkheads(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	c := apimeta.FindStatusCondition(typed(u).Status.Conditions, kind)
	if c == nil {
		return "no condition yet"
	}
	return string(c.Status) + " " + c.Reason + ": " + c.Message
}

// limits are what pods read, by service.
func limits(ctx context.Context, namespace string) (map[string]int, error) {
	object, err := people.kube.CoreV1().ConfigMaps(namespace).Get(ctx, v1alpha1.DefaultConfigMapName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	document, err := bulkheadconfig.Decode([]byte(object.Data[bulkheadconfig.Key]))
	limits := map[string]int{}
	for name, service := range document.Services {
		limits[name] = service.Limit
	}
	return limits, err
}
