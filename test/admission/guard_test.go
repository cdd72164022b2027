// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// guarded is the namespace in which the operator's role allows too much.
const guarded = "guarded"

// guard is a policy that holds the operator's account back.
type guard struct {
	policy string
	rules  []guardRule
}

// guardRule is one of its rules: what it answers, and to what.
type guardRule struct {
	refusal  string
	attempts []attempt
}

// attempt is something that the operator has a right to do and must not.
type attempt struct {
	what string
	do   func(ctx context.Context, a account) error
}

// guards is a table for the specs below and for the reference in docs.
var guards = []guard{
	{"servicebulkhead-guard-configmaps", configMapRules},
	{"servicebulkhead-guard-pods", podRules},
	{"servicebulkhead-guard-servicebulkheads", bulkheadRules},
}

var _ = Describe("The operator's account, with every right", Ordered, ContinueOnFailure, func() {
	BeforeAll(makeGuardedConfigMaps)
	BeforeAll(makeGuardedPods)
	BeforeAll(makeGuardedBulkhead)

	for _, guard := range guards {
		for _, rule := range guard.rules {
			for _, attempt := range rule.attempts {
				It("is refused when it "+attempt.what, func(ctx context.Context) {
					err := attempt.do(ctx, operator)
					Expect(apierrors.IsForbidden(err)).To(BeTrue(), "got %v", err)
					Expect(err).To(MatchError(HaveSuffix("ValidatingAdmissionPolicy '" + guard.policy +
						"' with binding '" + guard.policy + "' denied request: " + rule.refusal)))
				})
			}
		}
	}
})

// An overlay that sets a namespace moves the ServiceAccount and not what stands in
// an expression, so the guards go by the account's name.
var _ = DescribeTable("The guards hold", func(ctx context.Context, user string, held bool) {
	config := rest.CopyConfig(plane.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	a := newAccount(config)
	for _, guard := range guards {
		rule := guard.rules[0]
		err := rule.attempts[0].do(ctx, a) // all of them dry runs
		if held {
			Expect(err).To(MatchError(HaveSuffix(rule.refusal)), guard.policy)
		} else {
			Expect(err).NotTo(HaveOccurred(), guard.policy)
		}
	}
},
	Entry("the operator where config/default puts it", operatorUser, true),
	Entry("the operator in another namespace", "system:serviceaccount:platform:"+operatorAccount, true),
	Entry("no other account", "system:serviceaccount:"+operatorNamespace+":default", false),
	Entry("no account whose name ends alike", "system:serviceaccount:platform:my-"+operatorAccount, false),
	Entry("no account whose name begins alike", "system:serviceaccount:platform:"+operatorAccount+"s", false),
	Entry("no person of that name", operatorAccount, false),
)

// dryRun leaves nothing behind.
var dryRun = []string{metav1.DryRunAll}

// forced is how a server-side apply takes fields over.
var forced = metav1.PatchOptions{FieldManager: operatorAccount, Force: new(true)}

// patchBulkhead is a merge patch of the object or, with a name behind it, of a
// subresource.
func patchBulkhead(patch string, subresources ...string) func(context.Context, account) error {
	return func(ctx context.Context, a account) error {
		_, err := a.bulkheads(guarded).Patch(ctx, "payments", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
		return err
	}
}

var bulkheadRules = []guardRule{{
	refusal: "the operator writes the status of a ServiceBulkhead and nothing else of it; " +
		"change, create or delete the object yourself, or where it is declared",
	attempts: []attempt{
		{"creates a ServiceBulkhead", func(ctx context.Context, a account) error {
			u := object("intruder", map[string]any{"limit": int64(1), "reclaimAfter": "30s"})
			_, err := a.bulkheads(guarded).Create(ctx, u, metav1.CreateOptions{DryRun: dryRun})
			return err
		}},
		{"changes a limit", patchBulkhead(`{"spec":{"limit":0}}`)},
		{"adds a finalizer to a ServiceBulkhead", patchBulkhead(`{"metadata":{"finalizers":["example.com/hold"]}}`)},
		{"labels a ServiceBulkhead", patchBulkhead(`{"metadata":{"labels":{"team":"none"}}}`)},
		{"applies a ServiceBulkhead, by force", func(ctx context.Context, a account) error {
			u := object("payments", map[string]any{"limit": int64(0), "reclaimAfter": "30s"})
			_, err := a.bulkheads(guarded).Apply(ctx, "payments", u, metav1.ApplyOptions{FieldManager: operatorAccount, Force: true})
			return err
		}},
		{"deletes a ServiceBulkhead", func(ctx context.Context, a account) error {
			return a.bulkheads(guarded).Delete(ctx, "payments", metav1.DeleteOptions{})
		}},
		{"deletes every ServiceBulkhead", func(ctx context.Context, a account) error {
			return a.bulkheads(guarded).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		}},
	},
}}

func makeGuardedBulkhead(ctx context.Context) {
	u := object("payments", map[string]any{"limit": int64(1), "reclaimAfter": "30s"})
	_, err := people.bulkheads(guarded).Create(ctx, u, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}
