// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var _ = Describe("Fields", func() {
	now := NewWithT(GinkgoTB())

	It("of a bulkhead have one owner each: the status the operator, the rest who applied it", func(ctx context.Context) {
		namespace := newNamespace(ctx, "owners")
		startOperator(namespace)
		git := func(flags ...string) []string {
			file := payments("payments", "limit: 25, reclaimAfter: 30s")
			return append([]string{"-n", namespace, "apply", "--server-side", "--field-manager=git", "-f", file}, flags...)
		}
		team := func(flags ...string) []string {
			file := manifest("apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkhead\nmetadata: {name: payments, labels: {team: checkout}}\n" +
				"spec: {maxWait: 50ms}\n")
			return append([]string{"-n", namespace, "apply", "--server-side", "--field-manager=team", "-f", file}, flags...)
		}
		kubectl(ctx, git()...)
		Eventually(state(ctx, namespace, "payments")).Should(Equal(current))
		kubectl(ctx, team()...)
		Eventually(generations(ctx, namespace, "payments")).Should(HaveExactElements(int64(2), int64(2)))
		before := versions(ctx, namespace)(now)
		kubectl(ctx, git()...) // without force: a conflict would be an error
		kubectl(ctx, team()...)
		Consistently(versions(ctx, namespace)).Should(Equal(before))

		object, err := get(ctx, namespace, "payments")
		Expect(err).NotTo(HaveOccurred())
		Expect(owned(object.GetManagedFields(), "servicebulkhead-operator", "")).To(BeEmpty())
		Expect(owned(object.GetManagedFields(), "servicebulkhead-operator", "status")).To(ConsistOf("f:status"))
		Expect(owned(object.GetManagedFields(), "git", "")).To(ConsistOf("f:spec"))
		Expect(owned(object.GetManagedFields(), "team", "")).To(ConsistOf("f:metadata", "f:spec"))

		clash := plane.KubectlCommand(ctx, "-n", namespace, "apply", "--server-side", "--field-manager=team", "-f",
			payments("payments", "limit: 30, reclaimAfter: 30s"))
		output, err := clash.CombinedOutput()
		Expect(err).To(HaveOccurred())
		Expect(string(output)).To(ContainSubstring(`conflict with "git": .spec.limit`))
	})

	It("of the ConfigMap that are others' survive, and nobody's tracking is copied onto it", func(ctx context.Context) {
		namespace := newNamespace(ctx, "others")
		startOperator(namespace)
		kubectl(ctx, "-n", namespace, "apply", "-f", manifest("apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkhead\n"+
			"metadata:\n  name: payments\n  labels: {app.kubernetes.io/instance: shop, kustomize.toolkit.fluxcd.io/name: shop}\n"+
			"  annotations: {argocd.argoproj.io/tracking-id: shop}\nspec: {limit: 25, reclaimAfter: 30s}\n"))
		Eventually(state(ctx, namespace, "payments")).Should(Equal(current))
		object, err := configMap(ctx, namespace)
		Expect(err).NotTo(HaveOccurred())
		Expect(object.Labels).To(Equal(map[string]string{"servicebulkhead.io/managed": "true"}))
		Expect(object.Annotations).To(BeEmpty())
		Expect(object.OwnerReferences).To(BeEmpty(), "a tool that follows owners would prune it with the last bulkhead")

		theirs := manifest("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: service-bulkheads, labels: {team: checkout}, annotations: {note: theirs}}\n" +
			"data: {theirs: \"1\"}\n")
		applyTheirs := func() {
			kubectl(ctx, "-n", namespace, "apply", "--server-side", "--field-manager=team", "-f", theirs)
		}
		applyTheirs()
		for limit := 26; limit < 28; limit++ {
			kubectl(ctx, "-n", namespace, "patch", "sbh", "payments", "--type=merge", fmt.Sprintf(`--patch={"spec":{"limit":%d}}`, limit))
			Eventually(limits(ctx, namespace)).Should(HaveKeyWithValue("payments", limit))
		}
		Eventually(state(ctx, namespace, "payments")).Should(Equal(current))
		before := versions(ctx, namespace)(now)
		applyTheirs()
		Consistently(versions(ctx, namespace)).Should(Equal(before))

		object, err = configMap(ctx, namespace)
		Expect(err).NotTo(HaveOccurred())
		Expect(object.Labels).To(HaveKeyWithValue("team", "checkout"))
		Expect(object.Annotations).To(HaveKeyWithValue("note", "theirs"))
		Expect(object.Data).To(HaveKeyWithValue("theirs", "1"))
	})

	It("O24: that a newer version has and the operator does not know survive its writes", func(ctx context.Context) {
		const at = "/spec/versions/0/schema/openAPIV3Schema/properties/"
		patchCRD := func(ctx context.Context, op string) {
			kubectl(ctx, "patch", "crd", "servicebulkheads.servicebulkhead.io", "--type=json", `--patch=[`+
				`{"op":"`+op+`","path":"`+at+`spec/properties/burst","value":{"type":"integer"}},`+
				`{"op":"`+op+`","path":"`+at+`status/properties/pods","value":{"type":"integer"}}]`)
		}
		patchCRD(ctx, "add")
		DeferCleanup(patchCRD, "remove")
		namespace := newNamespace(ctx, "newer")
		newer := payments("payments", "limit: 25, reclaimAfter: 30s, burst: 7")
		Eventually(func() error { // a changed schema is served a moment later
			return plane.KubectlCommand(ctx, "-n", namespace, "apply", "--validate=strict", "-f", newer).Run()
		}).Should(Succeed())
		kubectl(ctx, "-n", namespace, "patch", "sbh", "payments", "--subresource=status", "--type=merge",
			`--patch={"status":{"pods":3,"conditions":[{"type":"Newer","status":"True","reason":"Newer","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)

		startOperator(namespace)
		Eventually(state(ctx, namespace, "payments")).Should(Equal(current))
		kubectl(ctx, "-n", namespace, "patch", "sbh", "payments", "--type=merge", `--patch={"spec":{"limit":26}}`)
		Eventually(generations(ctx, namespace, "payments")).Should(HaveExactElements(int64(2), int64(2)))
		Expect(kubectl(ctx, "-n", namespace, "get", "sbh", "payments", "-o",
			`jsonpath={.spec.burst} {.status.pods} {.status.conditions[*].type}`)).To(Equal("7 3 Newer Accepted Ready"))
	})

	It("that somebody changes by hand are put back by the next apply, and the kill switch holds once it is in Git", func(ctx context.Context) {
		namespace := newNamespace(ctx, "break-glass")
		startOperator(namespace)
		git := func(spec string) {
			kubectl(ctx, "-n", namespace, "apply", "--server-side", "--field-manager=git", "--force-conflicts", "-f", payments("payments", spec))
		}
		killSwitch := func() {
			kubectl(ctx, "-n", namespace, "patch", "sbh", "payments", "--type=merge", "--patch="+killSwitchPatch)
			Eventually(limits(ctx, namespace)).Should(HaveKeyWithValue("payments", 0))
			Expect(kubectl(ctx, "-n", namespace, "get", "sbh", "payments", "-o", "jsonpath={.spec.enforcement}")).To(Equal("Enforce"))
		}
		const usual = "limit: 25, reclaimAfter: 30s, enforcement: Shadow"
		git(usual)
		Eventually(limits(ctx, namespace)).Should(HaveKeyWithValue("payments", 25))
		killSwitch()
		git(usual) // self-healing
		Eventually(limits(ctx, namespace)).Should(HaveKeyWithValue("payments", 25))

		killSwitch()
		Eventually(state(ctx, namespace, "payments")).Should(Equal(current))
		before, document := generations(ctx, namespace, "payments")(now), versions(ctx, namespace)(now)["ConfigMap"]
		git("limit: 0, reclaimAfter: 30s, enforcement: Enforce") // Git has caught up
		Expect(generations(ctx, namespace, "payments")(now)).To(Equal(before))
		Expect(versions(ctx, namespace)(now)["ConfigMap"]).To(Equal(document))
		git(usual)
		Eventually(limits(ctx, namespace)).Should(HaveKeyWithValue("payments", 25))
	})
})

// killSwitchPatch is what docs/gitops.md tells to do in a hurry: under Shadow a limit
// of 0 alone would cut nothing off.
const killSwitchPatch = `{"spec":{"limit":0,"enforcement":"Enforce"}}`

// owned lists the parts of an object, at its top, in which a manager owns fields.
func owned(entries []metav1.ManagedFieldsEntry, manager, subresource string) (parts []string) {
	GinkgoHelper()
	for _, entry := range entries {
		if entry.Manager != manager || entry.Subresource != subresource {
			continue
		}
		var fields map[string]any
		Expect(json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields)).To(Succeed())
		for part := range fields {
			parts = append(parts, part)
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}
