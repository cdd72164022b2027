// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var (
	seed    = flag.Uint64("differential.seed", 0, "repeat the objects of an earlier run; 0 draws a new seed")
	objects = flag.Int("differential.objects", 6_000, "how many objects to generate")
)

var _ = Describe("The API server, and Parse and Validate", func() {
	var rules []rule
	BeforeEach(func() {
		all, err := readRules()
		Expect(err).NotTo(HaveOccurred())
		rules = onCreation(all)
	})

	It("agree on every object, and name the same field in the same words", func(ctx context.Context) {
		began := time.Now()
		t := ask(ctx, *objects, single(rules), disagreement)
		AddReportEntry("objects", fmt.Sprintf("%d objects in %s, -differential.seed=%d\n%s",
			*objects, time.Since(began).Round(time.Second), *seed, t.report(rules)), ReportEntryVisibilityAlways)

		Expect(t.complaints).To(BeEmpty(), t.complaint)
		for _, r := range rules {
			Expect(t.refused[r.String()]).To(BeNumerically(">", 0), "no object broke this rule: %s", r)
		}
		Expect(t.accepted).To(BeNumerically(">=", *objects/4))
	}, NodeTimeout(5*time.Minute))

	It("agree on texts that are almost right", func(ctx context.Context) {
		t := ask(ctx, *objects/3, almost, difference)
		AddReportEntry("texts", fmt.Sprintf("%d of %d accepted by both", t.accepted, *objects/3), ReportEntryVisibilityAlways)
		Expect(t.complaints).To(BeEmpty(), t.complaint)
		Expect(t.accepted).To(And(BeNumerically(">", *objects/30), BeNumerically("<", *objects/3-*objects/30)))
	}, NodeTimeout(5*time.Minute))

	// The API server stops early: after what it finds on reading, and after what the
	// schema finds. We may tell more.
	It("agree on objects with several mistakes; we miss none of what the API server tells", func(ctx context.Context) {
		t := ask(ctx, *objects/4, several(rules), omission)
		Expect(t.complaints).To(BeEmpty(), t.complaint)
		Expect(t.accepted).To(BeZero())
	}, NodeTimeout(5*time.Minute))
})

// disagreement says what is wrong with the answers to an object with one mistake or
// none; empty means nothing.
func disagreement(s specimen, api answer, ours []refusal) string {
	valid := len(s.broken) == 0
	switch {
	case valid && len(api.refusals) > 0:
		return "the API server refuses what was meant to be valid"
	case !valid && !slices.ContainsFunc(api.refusals, s.broken[0].broken):
		return "the API server does not say that this is broken: " + s.broken[0].String()
	case len(fieldsOf(api.refusals)) > 1:
		return "more than one mistake"
	}
	return difference(s, api, ours)
}

// difference says how the answers differ; empty means not at all.
func difference(_ specimen, api answer, ours []refusal) string {
	switch {
	case !slices.Equal(fieldsOf(api.refusals), fieldsOf(ours)):
		return "they name different fields"
	case !sameWords(api.refusals, ours):
		return "they say different things"
	}
	return ""
}

// omission says what is wrong with the answers to an object with several mistakes.
func omission(_ specimen, api answer, ours []refusal) string {
	theirs, named := fieldsOf(api.refusals), fieldsOf(ours)
	missing := func(field string) bool { return !slices.Contains(named, field) }
	switch {
	case len(theirs) == 0:
		return "the API server accepts it"
	case slices.ContainsFunc(theirs, missing):
		return "the API server names a field that we do not"
	case !api.early && !slices.Equal(theirs, named):
		return "we name a field that the API server, which looked at everything, does not"
	}
	return ""
}
