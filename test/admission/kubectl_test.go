// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

var _ = Describe("With kubectl", func() {
	DescribeTable("applying the samples twice changes nothing",
		func(ctx context.Context, flags ...string) {
			apply := append([]string{"apply", "-f", samplesDir}, flags...)
			// The namespace stays: that it is there already is no change either.
			DeferCleanup(func(ctx context.Context) { kubectl(ctx, "delete", "-n", "shop", "sbh", "--all") })
			state := func() string {
				return kubectl(ctx, "get", "-n", "shop", "sbh", "-o",
					`jsonpath={range .items[*]}{.metadata.name} {.metadata.generation} {.metadata.resourceVersion}{"\n"}{end}`)
			}
			kubectl(ctx, apply...)
			kubectl(ctx, apply...)
			second := state()
			Expect(second).To(MatchRegexp(`^payments 1 \d+\nsearch 1 \d+\n$`))
			// The first update that the API server does not skip also stores the
			// status's default, which until then it fills in on every read. From then
			// on nothing is written at all.
			kubectl(ctx, apply...)
			Expect(state()).To(Equal(second))
		},
		Entry("client-side"),
		Entry("server-side", "--server-side"),
	)

	It("the sample application is valid too", func(ctx context.Context) {
		kubectl(ctx, "apply", "-f", samplesDir+"/namespace.yaml")
		kubectl(ctx, "apply", "--dry-run=server", "-f", samplesDir+"/application")
	})

	It("get shows what matters", func(ctx context.Context) {
		kubectl(ctx, "apply", "-f", samplesDir)
		DeferCleanup(func(ctx context.Context) { kubectl(ctx, "delete", "-n", "shop", "sbh", "--all") })
		columns := func(output string) []string { return strings.Fields(strings.Split(output, "\n")[0]) }
		narrow := []string{"NAME", "SERVICE", "LIMIT", "MAXWAIT", "RECLAIM", "ENFORCEMENT", "READY", "AGE"}
		Expect(columns(kubectl(ctx, "get", "-n", "shop", "sbh"))).To(Equal(narrow))
		Expect(columns(kubectl(ctx, "get", "-n", "shop", "sbh", "-o", "wide"))).To(Equal(slices.Insert(slices.Clone(narrow), 7, "REASON")))
		Expect(kubectl(ctx, "get", "-n", "shop", "resilience", "-o", "name")).To(ContainSubstring("servicebulkhead.servicebulkhead.io/payments"))
	})

	It("explain lists every field", func(ctx context.Context) {
		text := kubectl(ctx, "explain", "servicebulkhead.spec", "--recursive")
		for _, field := range []string{
			"configMapName", "drainTimeout", "enforcement", "limit", "maxWait", "onReclaim", "queue", "capacity", "maxConcurrency",
			"reclaimAfter", "service",
		} {
			Expect(text).To(MatchRegexp(`(?m)^ +` + field + `\t<\w+>`))
		}
	})

	It("explain has a text and an example for every field", func(ctx context.Context) {
		text, err := os.ReadFile(crdFile)
		Expect(err).NotTo(HaveOccurred())
		var crd apiextensionsv1.CustomResourceDefinition
		Expect(yaml.UnmarshalStrict(text, &crd)).To(Succeed())
		schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		for _, path := range fields("servicebulkhead", schema) {
			if !strings.HasPrefix(path, "servicebulkhead.spec") && !strings.HasPrefix(path, "servicebulkhead.status") {
				continue // Kubernetes' own
			}
			explanation := kubectl(ctx, "explain", path)
			Expect(explanation).NotTo(ContainSubstring("<empty>"), path)
			if strings.Count(path, ".") > 1 && !strings.HasPrefix(path, "servicebulkhead.status.conditions.") {
				Expect(explanation).To(ContainSubstring("Example: "), path)
			}
		}
	})
})

// fields lists the paths of a schema's fields, all the way down.
func fields(path string, schema *apiextensionsv1.JSONSchemaProps) (paths []string) {
	for name, property := range schema.Properties {
		child := path + "." + name
		paths = append(append(paths, child), fields(child, &property)...)
		if property.Items != nil {
			paths = append(paths, fields(child, property.Items.Schema)...)
		}
	}
	slices.Sort(paths)
	return paths
}
