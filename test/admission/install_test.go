// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const operator = "system:serviceaccount:servicebulkhead-system:servicebulkhead-operator"

var _ = Describe("The installation", Ordered, func() {
	BeforeAll(func(ctx context.Context) {
		// A pod template that the namespace's restricted Pod Security would refuse
		// causes a warning, and so does a deprecated API.
		Expect(kubectl(ctx, "apply", "-k", "../../config/default")).NotTo(ContainSubstring("Warning"))
	})

	DescribeTable("gives the operator the rights it needs, and no others",
		func(ctx context.Context, want string, request string) {
			args := append([]string{"auth", "can-i", "--as", operator}, strings.Fields(request)...)
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
})
