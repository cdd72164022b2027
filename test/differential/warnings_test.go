// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

var _ = Describe("The API server, and Warnings", func() {
	It("warn of the same risks in the same words", func(ctx context.Context) {
		Eventually(func() ([]string, error) { // a policy takes effect a moment later
			api, err := tryToCreate(ctx, `{"apiVersion":"servicebulkhead.io/v1alpha1","kind":"ServiceBulkhead",`+
				`"metadata":{"name":"a"},"spec":{"limit":0,"reclaimAfter":"1s"}}`)
			return api.warnings, err
		}).WithContext(ctx).WithTimeout(time.Minute).Should(HaveLen(1))

		var mu sync.Mutex
		warned := map[string]int{}
		t := ask(ctx, *objects/4, legal, func(s specimen, api answer, _ []refusal) string {
			mu.Lock()
			defer mu.Unlock()
			for _, text := range api.warnings {
				warned[text]++
			}
			return otherWarnings(s, api)
		})
		AddReportEntry("warnings", counts(warned), ReportEntryVisibilityAlways)
		Expect(t.complaints).To(BeEmpty(), t.complaint)
		for _, text := range everyWarning() {
			Expect(warned).To(HaveKey(text), "no object was warned of")
		}
	}, NodeTimeout(5*time.Minute))
})

// otherWarnings says how the warnings differ; empty means not at all.
func otherWarnings(s specimen, api answer) string {
	b, errs := v1alpha1.Parse([]byte(s.text))
	if len(errs) > 0 {
		return "it was meant to be valid"
	}
	if ours := v1alpha1.Warnings(b); !slices.Equal(api.warnings, ours) {
		return fmt.Sprintf("the API server warns %q, and we %q", api.warnings, ours)
	}
	return ""
}

// everyWarning reads the texts of the table that Warnings is tested with.
func everyWarning() (texts []string) {
	GinkgoHelper()
	table, err := os.ReadFile(warningsFile)
	Expect(err).NotTo(HaveOccurred())
	var rows []struct {
		Warnings []string `json:"warnings"`
	}
	Expect(yaml.Unmarshal(table, &rows)).To(Succeed())
	for _, row := range rows {
		texts = append(texts, row.Warnings...)
	}
	Expect(texts).NotTo(BeEmpty())
	return texts
}
