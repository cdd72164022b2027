// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// names are the two that pods know a bulkhead by. Empty means absent.
type names struct{ service, configMap string }

func (n names) String() string {
	return fmt.Sprintf("service %q in ConfigMap %q", n.service, n.configMap)
}

// put writes the names into an object.
func (n names) put(r *rand.Rand, o *object) {
	for path, name := range map[string]string{"spec.service": n.service, "spec.configMapName": n.configMap} {
		o.drop(path)
		if name != "" {
			o.set(path, quote(r, name))
		}
	}
}

// immutable names the fields that a change from one to the other must not touch:
// what counts is the effective name, as pods know it.
func immutable(object string, before, after names) (fields []string) {
	if cmp.Or(before.configMap, v1alpha1.DefaultConfigMapName) != cmp.Or(after.configMap, v1alpha1.DefaultConfigMapName) {
		fields = append(fields, "spec.configMapName")
	}
	if cmp.Or(before.service, object) != cmp.Or(after.service, object) {
		fields = append(fields, "spec.service")
	}
	return fields
}

// everyNames are all pairs of what a bulkhead called stored may carry.
func everyNames(stored string) (all []names) {
	for _, service := range []string{"", stored, "payments", "search"} {
		for _, configMap := range []string{"", v1alpha1.DefaultConfigMapName, "a-bulkheads", "b-bulkheads"} {
			all = append(all, names{service, configMap})
		}
	}
	return all
}

// store creates a valid object with these names, and returns its resourceVersion.
func store(ctx context.Context, r *rand.Rand, name string, n names) (resourceVersion string) {
	GinkgoHelper()
	o := valid(r, false)
	o.set("metadata.name", encode(name))
	n.put(r, &o)
	raw, err := server.Post().Namespace(namespace).Resource("servicebulkheads").
		SetHeader("Content-Type", "application/json").Body([]byte(o.json(r))).Do(ctx).Raw()
	Expect(err).NotTo(HaveOccurred(), string(raw))
	DeferCleanup(remove, name)
	var u unstructured.Unstructured
	Expect(u.UnmarshalJSON(raw)).To(Succeed())
	return u.GetResourceVersion()
}

// remove deletes an object, if it is there.
func remove(ctx context.Context, name string) error {
	err := server.Delete().Namespace(namespace).Resource("servicebulkheads").Name(name).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// tryToUpdate asks the API server about a change, strictly, and changes nothing.
func tryToUpdate(ctx context.Context, name, text string) ([]refusal, error) {
	api, err := answered(server.Put().Namespace(namespace).Resource("servicebulkheads").Name(name).
		Param("dryRun", metav1.DryRunAll).Param("fieldValidation", metav1.FieldValidationStrict).
		SetHeader("Content-Type", "application/json").Body([]byte(text)).Do(ctx))
	return api.refusals, err
}

var _ = Describe("Of a stored object, the API server", func() {
	const name = "stored"
	var (
		r     *rand.Rand
		rules []rule
	)
	BeforeEach(func() {
		r = random(0)
		var err error
		rules, err = readRules()
		Expect(err).NotTo(HaveOccurred())
	})
	// replacement is a whole new object in the place of the stored one.
	replacement := func(resourceVersion string, full bool) object {
		o := valid(r, full)
		o.set("metadata.name", encode(name))
		o.set("metadata.resourceVersion", encode(resourceVersion))
		return o
	}

	It("refuses every change of the service and of the ConfigMap, and no other change", func(ctx context.Context) {
		refused := map[string]int{}
		for _, before := range everyNames(name) {
			resourceVersion := store(ctx, r, name, before)
			for _, after := range everyNames(name) {
				o := replacement(resourceVersion, oneIn(r, 2))
				after.put(r, &o)
				text := o.json(r)
				api, err := tryToUpdate(ctx, name, text)
				Expect(err).NotTo(HaveOccurred())
				Expect(fieldsOf(api)).To(Equal(immutable(name, before, after)), "-differential.seed=%d: from %s to %s, with\n%s",
					*seed, before, after, text)
				Expect(judged(text)).To(BeEmpty(), "what is only wrong as a change is right by itself: %s", text)
				for _, broken := range rules {
					if broken.isTransition && slices.ContainsFunc(api, broken.broken) {
						refused[broken.String()]++
					}
				}
			}
			Expect(remove(ctx, name)).To(Succeed())
		}
		AddReportEntry("changes", fmt.Sprintf("-differential.seed=%d\n%v", *seed, refused), ReportEntryVisibilityAlways)
		for _, broken := range rules {
			if broken.isTransition {
				Expect(refused).To(HaveKey(broken.String()))
			}
		}
	})

	It("judges the new object as if it were created", func(ctx context.Context) {
		same := names{"payments", "shop-bulkheads"}
		resourceVersion := store(ctx, r, name, same)
		for _, broken := range onCreation(rules) {
			if strings.HasPrefix(broken.path, "metadata.name") || broken.String() == nameStandsIn {
				continue // the name is in the request's path too
			}
			for range 5 {
				o := replacement(resourceVersion, true)
				same.put(r, &o)
				breakers[broken.kind](r, &o, broken)
				text := o.json(r)
				api, err := tryToUpdate(ctx, name, text)
				Expect(err).NotTo(HaveOccurred())
				Expect(api).NotTo(BeEmpty(), text)
				Expect(fieldsOf(api)).To(Equal(fieldsOf(judged(text))), "-differential.seed=%d: %s: %s\nAPI server: %s",
					*seed, broken, text, tell(api))
			}
		}
	})
})
