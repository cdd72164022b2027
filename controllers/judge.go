// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"slices"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// services is what a document holds, by service.
type services = map[string]bulkheadconfig.Service

// verdict is what a pass thinks of one bulkhead.
type verdict struct {
	bulkhead *v1alpha1.ServiceBulkhead
	// entry is what the document is to hold for the bulkhead; nil means nothing. A
	// bulkhead that is not accepted keeps the entry that it had, if it had one.
	entry *bulkheadconfig.Service
	// altered says that the entry which it keeps is not the one that was last
	// accepted. Its status goes on naming the latter, which is how the next pass
	// knows.
	altered bool
	// reason and message are those of the condition Accepted.
	reason, message string
}

func (v verdict) accepted() bool { return v.reason == v1alpha1.ReasonAccepted }

// judge says of each bulkhead whether it is accepted and what the document is to
// hold for it. previous is what the document holds now, room how many bytes it
// may take. The order of the bulkheads does not matter; the verdicts come sorted
// by service, its winner first.
//
// Bulkheads that are being deleted are left out. Nothing can call their deletion
// off, so somebody's finalizer that holds one back must not hold back the
// bulkhead that takes its place.
func judge(bulkheads []v1alpha1.ServiceBulkhead, previous services, room int) []verdict {
	claims := make([]claim, 0, len(bulkheads))
	for i := range bulkheads {
		if bulkheads[i].DeletionTimestamp.IsZero() {
			claims = append(claims, newClaim(&bulkheads[i], previous))
		}
	}
	slices.SortFunc(claims, claim.compare)

	verdicts := make([]verdict, len(claims))
	var winner claim
	for i, c := range claims {
		if i == 0 || c.service != winner.service {
			winner = c
			verdicts[i] = c.won()
			continue
		}
		verdicts[i] = c.lostTo(winner)
	}
	return fit(verdicts, previous, room)
}
