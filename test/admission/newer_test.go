// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// O24, kubernetes/kubernetes#111703: the client is this release's Go types, the
// cluster has a later schema.
var _ = Describe("O24: a client that knows fewer fields", Serial, func() {
	key := client.ObjectKey{Namespace: "default", Name: "newer"}
	newer := func() *unstructured.Unstructured {
		return object(key.Name, map[string]any{
			"limit": int64(1), "reclaimAfter": "30s", "queue": map[string]any{"capacity": int64(8), "order": "Newest"}, "burst": int64(5),
		})
	}

	// inNewerSchema hands do a client, and expects the fields that it does not know
	// to be there afterwards, or not.
	inNewerSchema := func(ctx context.Context, survive bool, do func(old client.Client, b *v1alpha1.ServiceBulkhead)) {
		GinkgoHelper()
		withSchema(ctx, addFields, follows(newer), func() {
			_, err := bulkheads.Create(ctx, newer(), metav1.CreateOptions{FieldManager: "newer"})
			Expect(err).NotTo(HaveOccurred())
			defer func() { Expect(bulkheads.Delete(ctx, key.Name, metav1.DeleteOptions{})).To(Succeed()) }()
			old, b := typedClient(), &v1alpha1.ServiceBulkhead{}
			Expect(old.Get(ctx, key, b)).To(Succeed())
			do(old, b)
			u, err := bulkheads.Get(ctx, key.Name, metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())
			Expect(u.Object["spec"]).To(HaveKeyWithValue("limit", int64(2)))
			for _, path := range [][]string{{"spec", "burst"}, {"spec", "queue", "order"}} {
				_, found, err := unstructured.NestedFieldNoCopy(u.Object, path...)
				Expect(err).NotTo(HaveOccurred())
				Expect(found).To(Equal(survive), "%v", path)
			}
		})
	}

	It("patches, and the fields survive", func(ctx context.Context) {
		inNewerSchema(ctx, true, func(old client.Client, b *v1alpha1.ServiceBulkhead) {
			before := b.DeepCopy()
			b.Spec.Limit = new(int32(2))
			Expect(old.Patch(ctx, b, client.MergeFrom(before))).To(Succeed())
		})
	})

	It("applies, and the fields of others survive", func(ctx context.Context) {
		inNewerSchema(ctx, true, func(old client.Client, _ *v1alpha1.ServiceBulkhead) {
			u := object(key.Name, map[string]any{"limit": int64(2)})
			u.SetNamespace(key.Namespace)
			Expect(old.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("older"), client.ForceOwnership)).To(Succeed())
		})
	})

	// Why clients patch, and the operator too.
	It("replaces, and they are lost", func(ctx context.Context) {
		inNewerSchema(ctx, false, func(old client.Client, b *v1alpha1.ServiceBulkhead) {
			b.Spec.Limit = new(int32(2))
			Expect(old.Update(ctx, b)).To(Succeed())
		})
	})
})

// addFields makes the schema of a later release.
func addFields(schema *apiextensionsv1.JSONSchemaProps) {
	spec := schema.Properties["spec"]
	spec.Properties["burst"] = apiextensionsv1.JSONSchemaProps{Type: "integer"}
	queue := spec.Properties["queue"]
	queue.Properties["order"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
}

// follows says whether the API server knows every field of the object.
func follows(newer func() *unstructured.Unstructured) func(context.Context) bool {
	return func(ctx context.Context) bool {
		options := metav1.CreateOptions{DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict}
		_, err := bulkheads.Create(ctx, newer(), options)
		return err == nil
	}
}

// typedClient is a client of this release.
func typedClient() client.Client {
	GinkgoHelper()
	scheme := runtime.NewScheme()
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	c, err := client.New(people.config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return c
}
