// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// badObject is one that the API server refuses, and the words of the reference page
// in which it does.
type badObject struct{ what, spec, words string }

var badObjects = []badObject{
	{
		"D3: a negative duration", "limit: 1, reclaimAfter: 30s, drainTimeout: -20s",
		`spec.drainTimeout: Invalid value: "-20s": must be a duration such as 50ms, 30s or 1m30s: one to four whole numbers, ` +
			`each with its unit h, m, s or ms; no sign, no fraction, no days, and 0 needs a unit too (0s)`,
	},
	{
		"an unbounded wait", "limit: 1, maxWait: 5m, reclaimAfter: 30s",
		`spec.maxWait: Invalid value: "5m": must be at most 60s: an unbounded wait is the pile-up that a bulkhead exists to prevent`,
	},
	{
		"a misspelt field", "limit: 1, maxwait: 50ms, reclaimAfter: 30s",
		`ServiceBulkhead in version "v1alpha1" cannot be handled as a ServiceBulkhead: strict decoding error: unknown field "spec.maxwait"`,
	},
	{
		"no limit", "reclaimAfter: 30s", `spec.limit: Required value`,
	},
	{
		"a foreign ConfigMap", "limit: 1, reclaimAfter: 30s, configMapName: kube-root-ca.crt",
		`spec.configMapName: Invalid value: "kube-root-ca.crt": must be a DNS label that ends in -bulkheads, such as service-bulkheads: no bulkhead can then point the operator at another kind of ConfigMap`,
	},
}

// warning is what the kill switch is let through with.
const warning = "spec.limit: 0 is the kill switch: no call to the service is admitted; set 1 or more unless the service is meant to be cut off"

// refuseBadObjects sees that what breaks a rule is refused in the words of the
// reference page, and that what is risky is let through with its warning.
func refuseBadObjects(ctx context.Context, namespace string) {
	GinkgoHelper()
	page, err := os.ReadFile(inRepository("docs/reference/admission.md"))
	Expect(err).NotTo(HaveOccurred())
	for _, bad := range badObjects {
		Expect(strings.Contains(string(page), bad.words)).To(BeTrue(), "%s: the reference page has other words", bad.what)
		answer := refused(ctx, bulkheadManifest("bad", bad.spec), "-n", namespace, "create", "-f", "-")
		Expect(answer).To(ContainSubstring(bad.words), bad.what)
	}
	Expect(strings.Contains(string(page), warning)).To(BeTrue(), "the kill switch: the reference page has other words")
	output, err := runKubectl(ctx, bulkheadManifest("switch", "limit: 0, reclaimAfter: 30s"), "-n", namespace, "create", "--dry-run=server", "-f", "-")
	Expect(err).NotTo(HaveOccurred(), output)
	Expect(output).To(ContainSubstring(warning))
}

func bulkheadManifest(name, spec string) string {
	return "apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkhead\nmetadata: {name: " + name + "}\nspec: {" + spec + "}\n"
}

var _ = Describe("The API server", Label("refuse"), func() {
	It("D3 refuses bad objects in the documented words, while an operator runs", func(ctx context.Context) {
		namespace := newNamespace(ctx, "refuse")
		step(ctx, "bad objects are refused", func(ctx context.Context) { refuseBadObjects(ctx, namespace) })
		Expect(kubectl(ctx, "-n", namespace, "get", "servicebulkheads", "-o", "name")).To(BeEmpty())
		Expect(kubectl(ctx, "-n", namespace, "get", "configmaps", "-l", managedSelector, "-o", "name")).To(BeEmpty())
	}, specLimit)
})
