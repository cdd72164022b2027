// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// kubectlAnswer is all that kubectl apply prints about a manifest that is refused.
type kubectlAnswer struct {
	section string // of the reference in docs
	what    string
	exists  bool // as what is right, before
	spec    string
	answer  string
}

const notChecked = "\n* <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; " +
	"correct the existing errors to complete validation"

// wholeObject is what kubectl repeats in an answer: all of what it sent.
var wholeObject = regexp.MustCompile(`"\{.*\}": strict`)

// kubectlAnswers are a table for the specs below and for the reference in docs.
var kubectlAnswers = []kubectlAnswer{
	{
		"kubectl", "one mistake", false, "{limit: 1, maxWait: 5m, reclaimAfter: 30s}",
		`The ServiceBulkhead "payments" is invalid: spec.maxWait: Invalid value: "5m": must be at most 60s: ` +
			"an unbounded wait is the pile-up that a bulkhead exists to prevent",
	},
	{
		"kubectl", "a wrong type, which hides that the wait is too long", false, `{limit: "25", maxWait: 5m, reclaimAfter: 30s}`,
		"The ServiceBulkhead \"payments\" is invalid: \n" +
			`* spec.limit: Invalid value: "string": spec.limit in body must be of type integer: "string"` + notChecked,
	},
	{
		"kubectl", "a wrong word, which hides the same", false, "{limit: 25, maxWait: 5m, reclaimAfter: 30s, enforcement: shadow}",
		"The ServiceBulkhead \"payments\" is invalid: \n" +
			`* spec.enforcement: Unsupported value: "shadow": supported values: "Enforce", "Shadow"` + notChecked,
	},
	{
		"kubectl, unknown fields", "of a new object", false, misspelt,
		`Error from server (BadRequest): error when creating "payments.yaml": ` + misspeltAnswer,
	},
	{
		"kubectl, unknown fields", "of one that exists", true, misspelt,
		`The request is invalid: patch: Invalid value: "{…}": strict decoding error: unknown field "spec.maxwait"`,
	},
}

var _ = Describe("All that kubectl says", func() {
	for _, row := range kubectlAnswers {
		It("to "+row.section+": "+row.what, func(ctx context.Context) {
			if row.exists {
				kubectl(ctx, "apply", "-f", writeManifest("{limit: 1, reclaimAfter: 30s}"))
				DeferCleanup(func(ctx context.Context) { kubectl(ctx, "delete", "sbh", "payments") })
			}
			manifest := writeManifest(row.spec)
			command := plane.KubectlCommand(ctx, "apply", "-f", filepath.Base(manifest))
			command.Dir = filepath.Dir(manifest)
			output, err := command.CombinedOutput()
			Expect(err).To(HaveOccurred())
			answer := wholeObject.ReplaceAllString(string(output), `"{…}": strict`)
			Expect(strings.TrimSuffix(answer, "\n")).To(Equal(row.answer))
		})
	}
})

func addKubectlAnswers(_ *testing.T, all answers) {
	for _, row := range kubectlAnswers {
		all.add(row.section, row.answer, row.what+": `spec: "+row.spec+"`")
	}
}
