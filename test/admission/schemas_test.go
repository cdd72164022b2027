// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
)

// withSchema does something while the API server has another schema of the resource:
// one of another release. probe says whether the API server follows it. Specs that
// use it cannot run beside others.
func withSchema(ctx context.Context, change func(schema *apiextensionsv1.JSONSchemaProps), probe func(context.Context) bool, do func()) {
	GinkgoHelper()
	follows := func(want bool) {
		GinkgoHelper()
		Eventually(probe).WithContext(ctx).Should(Equal(want))
	}
	follows(false)
	original := updateCRD(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) {
		change(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	})
	defer func() {
		updateCRD(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec = original.Spec })
		follows(false)
	}()
	follows(true)
	do()
}

// updateCRD changes the installed CRD and returns it as it was.
func updateCRD(ctx context.Context, change func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	GinkgoHelper()
	client := crds()
	u, err := client.Get(ctx, crdName, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	var crd apiextensionsv1.CustomResourceDefinition
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &crd)).To(Succeed())
	before := crd.DeepCopy()
	change(&crd)
	u.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(&crd)
	Expect(err).NotTo(HaveOccurred())
	_, err = client.Update(ctx, u, metav1.UpdateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return before
}

func crds() dynamic.ResourceInterface {
	return people.dynamic.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
}

// relax takes every rule out of a schema, and leaves its types and defaults.
func relax(schema *apiextensionsv1.JSONSchemaProps) {
	schema.XValidations, schema.Enum, schema.Required = nil, nil, nil
	schema.Minimum, schema.Maximum, schema.MaxLength, schema.Pattern = nil, nil, nil, ""
	for name, property := range schema.Properties {
		if name != "status" {
			relax(&property)
			schema.Properties[name] = property
		}
	}
}
