// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var _ = Describe("The installation", func() {
	DescribeTable("gives the operator the rights it needs, and no others",
		func(ctx context.Context, want string, request string) {
			args := append([]string{"auth", "can-i", "--as", operatorUser}, strings.Fields(request)...)
			answer, _ := plane.KubectlCommand(ctx, args...).Output() // "no" is an exit code too
			Expect(strings.TrimSpace(string(answer))).To(Equal(want))
		},
		Entry(nil, "yes", "watch servicebulkheads -A"),
		Entry(nil, "yes", "patch servicebulkheads --subresource=status -n shop"),
		Entry(nil, "yes", "create configmaps -n shop"),
		Entry(nil, "yes", "patch configmaps -n shop"),
		Entry(nil, "yes", "create events.events.k8s.io -n shop"),
		Entry(nil, "yes", "create leases.coordination.k8s.io -n servicebulkhead-system"),
		Entry(nil, "yes", "get leases.coordination.k8s.io/operator.servicebulkhead.io -n servicebulkhead-system"),
		Entry(nil, "yes", "update leases.coordination.k8s.io/operator.servicebulkhead.io -n servicebulkhead-system"),
		Entry(nil, "no", "update leases.coordination.k8s.io/another -n servicebulkhead-system"),
		Entry(nil, "no", "get leases.coordination.k8s.io/another -n servicebulkhead-system"),
		Entry(nil, "no", "patch servicebulkheads -n shop"),
		Entry(nil, "no", "delete servicebulkheads -n shop"),
		Entry(nil, "no", "delete configmaps -n shop"),
		Entry(nil, "no", "get secrets -n shop"),
		Entry(nil, "no", "patch pods -n shop"),
		Entry(nil, "no", "update leases.coordination.k8s.io -n shop"),
	)

	DescribeTable("adds to the cluster's own roles",
		func(ctx context.Context, role, into, verbs string) {
			Expect(kubectl(ctx, "get", "clusterrole", role, "-o", "jsonpath={.metadata.labels}{.rules[*].resources}{.rules[*].verbs}")).
				To(Equal(`{"rbac.authorization.k8s.io/aggregate-to-` + into + `":"true"}["servicebulkheads"]` + verbs))
		},
		Entry(nil, "servicebulkhead-viewer", "view", `["get","list","watch"]`),
		Entry(nil, "servicebulkhead-editor", "edit", `["create","delete","deletecollection","get","list","patch","update","watch"]`),
		Entry(nil, "servicebulkhead-admin", "admin", `["create","delete","deletecollection","get","list","patch","update","watch"]`),
	)

	It("is accepted by the type checker of policies", func(ctx context.Context) {
		policies := people.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies()
		list, err := policies.List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(list.Items).To(HaveLen(len(guards) + 1))
		for _, policy := range list.Items {
			Eventually(func(ctx context.Context) (*admissionv1.TypeChecking, error) {
				policy, err := policies.Get(ctx, policy.Name, metav1.GetOptions{})
				return policy.Status.TypeChecking, err
			}).WithContext(ctx).Should(HaveValue(HaveField("ExpressionWarnings", BeEmpty())), policy.Name)
		}
	})

	DescribeTable("applied again changes nothing",
		func(ctx context.Context, flags ...string) {
			with := func(command string) []string { return append([]string{command, "-k", installDir}, flags...) }
			kubectl(ctx, with("apply")...) // server-side, the first one takes the fields over
			before := versions(ctx)
			kubectl(ctx, with("apply")...)
			Expect(versions(ctx)).To(Equal(before))

			diff := plane.KubectlCommand(ctx, with("diff")...)
			diff.Env = append(os.Environ(), "KUBECTL_EXTERNAL_DIFF="+gitDiff())
			output, err := diff.CombinedOutput()
			Expect(err).NotTo(HaveOccurred(), string(output)) // a difference is an exit code
			Expect(string(output)).To(BeEmpty())
		},
		Entry("D5: client-side"),
		Entry("server-side", "--server-side"),
	)
})

// versions tell whether anything that was installed has been written. Deployments
// and disruption budgets have a status that the cluster itself writes: of them, the
// generation tells.
func versions(ctx context.Context) map[string]string {
	GinkgoHelper()
	var list unstructured.UnstructuredList
	Expect(json.Unmarshal([]byte(kubectl(ctx, "get", "-k", installDir, "-o", "json")), &list)).To(Succeed())
	versions := map[string]string{}
	for _, item := range list.Items {
		version := item.GetResourceVersion()
		if _, lively := item.Object["status"]; lively && item.GetGeneration() > 0 {
			version = fmt.Sprint("generation ", item.GetGeneration())
		}
		versions[item.GetKind()+" "+item.GetName()] = version
	}
	Expect(len(versions)).To(BeNumerically(">", 10))
	return versions
}

// gitDiff returns a command that compares two folders. kubectl's default, diff, need
// not be installed where git is.
func gitDiff() string {
	GinkgoHelper()
	script := writeFile("diff", "#!/usr/bin/env bash\nexec git diff --no-index \"$@\"\n")
	Expect(os.Chmod(script, 0o700)).To(Succeed())
	return script
}
