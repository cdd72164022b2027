// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// risk is a row of the table that Warnings is tested with too.
type risk struct {
	Case     string         `json:"case"`
	Name     string         `json:"name"`
	Spec     map[string]any `json:"spec"`
	Warnings []string       `json:"warnings"`
}

func (r risk) object() *unstructured.Unstructured {
	return object(cmp.Or(r.Name, "payments"), r.Spec)
}

func readTable[row any](file string) []row {
	GinkgoHelper()
	text, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	var rows []row
	Expect(yaml.UnmarshalStrict(text, &rows)).To(Succeed())
	Expect(rows).NotTo(BeEmpty())
	return rows
}

// heard keeps the warnings that come with the API server's answers.
type heard struct{ texts []string }

// warned is what the API server puts before a policy's words.
const warned = "Validation failed for ValidatingAdmissionPolicy 'servicebulkhead-risks' with binding 'servicebulkhead-risks': "

func (h *heard) HandleWarningHeader(_ int, _, text string) {
	h.texts = append(h.texts, strings.TrimPrefix(text, warned))
}

// listener is the people's account, and what they hear.
func listener() (account, *heard) {
	GinkgoHelper()
	config, h := rest.CopyConfig(plane.Config), &heard{}
	config.WarningHandler = h
	return newAccount(config), h
}

// warningsOf asks what the API server would say to the object's creation.
func warningsOf(ctx context.Context, u *unstructured.Unstructured) ([]string, error) {
	account, heard := listener()
	_, err := account.bulkheads("default").Create(ctx, u, metav1.CreateOptions{DryRun: dryRun})
	return heard.texts, err
}

func typed(u *unstructured.Unstructured) *v1alpha1.ServiceBulkhead {
	GinkgoHelper()
	var b v1alpha1.ServiceBulkhead
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &b)).To(Succeed())
	return &b
}

var _ = Describe("Of what is legal but risky, the API server", func() {
	It("warns in the words of the table, and Warnings agrees with it", func(ctx context.Context) {
		for _, row := range readTable[risk](warningsFile) {
			By(row.Case)
			warnings, err := warningsOf(ctx, row.object())
			Expect(err).NotTo(HaveOccurred(), row.Case)
			Expect(slices.Equal(warnings, row.Warnings)).To(BeTrue(), "%s: got %q, want %q", row.Case, warnings, row.Warnings)
			Expect(slices.Equal(v1alpha1.Warnings(typed(row.object())), row.Warnings)).To(BeTrue(), row.Case)
		}
	})

	It("says of every legal bulkhead what Warnings says", func(ctx context.Context) {
		for _, row := range readTable[rule](rulesFile) {
			if row.Field != "" {
				continue
			}
			warnings, err := warningsOf(ctx, row.object())
			Expect(err).NotTo(HaveOccurred(), row.Case)
			Expect(slices.Equal(warnings, v1alpha1.Warnings(typed(row.object())))).To(BeTrue(), "%s: got %q", row.Case, warnings)
		}
	})

	It("says nothing beside a refusal", func(ctx context.Context) {
		warnings, err := warningsOf(ctx, object("payments", map[string]any{
			"limit": int64(0), "maxWait": "2m", "reclaimAfter": "5ms", "enforcement": "Shadow",
		}))
		Expect(refusals(err)).To(HaveLen(1), "the whole answer: %v", err)
		Expect(warnings).To(BeEmpty())
	})

	It("warns of a change, and says nothing of a status or of another's warning that has passed", func(ctx context.Context) {
		account, heard := listener()
		patch := func(text string, subresources ...string) []string {
			GinkgoHelper()
			heard.texts = nil
			_, err := account.bulkheads("default").Patch(ctx, "risky", types.MergePatchType, []byte(text), metav1.PatchOptions{}, subresources...)
			Expect(err).NotTo(HaveOccurred())
			return heard.texts
		}
		_, err := account.bulkheads("default").Create(ctx, object("risky", map[string]any{"limit": int64(1), "reclaimAfter": "30s"}), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx context.Context) error { return bulkheads.Delete(ctx, "risky", metav1.DeleteOptions{}) })
		Expect(heard.texts).To(BeEmpty())
		Expect(patch(`{"spec":{"limit":0}}`)).To(ConsistOf(HavePrefix("spec.limit: 0 is the kill switch")))
		Expect(patch(`{"status":{"observedGeneration":1}}`, "status")).To(BeEmpty())
		Expect(patch(`{"spec":{"limit":1}}`)).To(BeEmpty())
	})

	It("warns kubectl's user", func(ctx context.Context) {
		Expect(kubectl(ctx, "create", "--dry-run=server", "-f", writeManifest("{limit: 25, reclaimAfter: 30s, enforcement: Shadow}"))).
			To(HavePrefix("Warning: " + warned + "spec.enforcement: Shadow admits every call"))
	})
})
