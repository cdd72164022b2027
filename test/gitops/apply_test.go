// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("Applying", func() {
	now := NewWithT(GinkgoTB())

	DescribeTable("twice changes nothing, and leaves no difference",
		func(ctx context.Context, namespace string, flags ...string) {
			newNamespace(ctx, namespace)
			startOperator(namespace)
			least := payments("payments", "limit: 25, reclaimAfter: 30s") // all that the schema fills in is left out
			with := func(verb string) []string { return append([]string{"-n", namespace, verb, "-f", least}, flags...) }
			kubectl(ctx, with("apply")...)
			Eventually(state(ctx, namespace, "payments")).Should(Equal(current))
			before := versions(ctx, namespace)(now)

			kubectl(ctx, with("apply")...)
			Expect(diff(ctx, with("diff"))).To(BeEmpty())
			Expect(generations(ctx, namespace, "payments")(now)).To(HaveExactElements(int64(1), int64(1)))
			Consistently(versions(ctx, namespace)).Should(Equal(before))
		},
		Entry("client-side", "twice-client-side"),
		Entry("server-side", "twice-server-side", "--server-side"),
		Entry("server-side, as another manager", "twice-as-another", "--server-side", "--field-manager=kustomize-controller", "--force-conflicts"),
	)

	It("O20: a duration that is written another way rolls nothing", func(ctx context.Context) {
		namespace := newNamespace(ctx, "durations")
		startOperator(namespace)
		kubectl(ctx, "-n", namespace, "apply", "-f", payments("payments", "limit: 25, reclaimAfter: 60s"))
		Eventually(state(ctx, namespace, "payments")).Should(Equal(current))
		before := versions(ctx, namespace)(now)

		kubectl(ctx, "-n", namespace, "apply", "-f", payments("payments", "limit: 25, reclaimAfter: 1m"))
		Eventually(generations(ctx, namespace, "payments")).Should(HaveExactElements(int64(2), int64(2)))
		after := versions(ctx, namespace)(now)
		Expect(after["ConfigMap"]).To(Equal(before["ConfigMap"]))
		kubectl(ctx, "-n", namespace, "apply", "-f", payments("payments", "limit: 25, reclaimAfter: 1m"))
		Consistently(versions(ctx, namespace)).Should(Equal(after))
	})

	It("the health script leaves Argo CD's other settings alone", func(ctx context.Context) {
		newNamespace(ctx, "argocd")
		kubectl(ctx, "apply", "-f", manifest("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm, namespace: argocd}\n"+
			"data: {application.instanceLabelKey: theirs}\n"))
		for range 2 {
			kubectl(ctx, "-n", "argocd", "patch", "configmap", "argocd-cm", "--type=merge", "--patch-file="+argoDir+"/argocd-cm.yaml")
		}
		Expect(kubectl(ctx, "-n", "argocd", "get", "configmap", "argocd-cm", "-o", "jsonpath={.data}")).To(And(
			ContainSubstring(`"application.instanceLabelKey":"theirs"`),
			ContainSubstring(`"resource.customizations.health.servicebulkhead.io_ServiceBulkhead":"-- The health of`)))
	})
})

// diff runs kubectl diff, and fails where there is a difference. kubectl calls
// git, because a program called diff need not be there.
func diff(ctx context.Context, args []string) string {
	GinkgoHelper()
	script := filepath.Join(GinkgoT().TempDir(), "diff")
	Expect(os.WriteFile(script, []byte("#!/usr/bin/env bash\nexec git diff --no-index \"$@\"\n"), 0o700)).To(Succeed())
	command := plane.KubectlCommand(ctx, args...)
	command.Env = append(os.Environ(), "KUBECTL_EXTERNAL_DIFF="+script)
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	return string(output)
}
