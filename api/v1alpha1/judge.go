// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// services is what a document holds, by service.
type services = map[string]bulkheadconfig.Service

// Verdict is what becomes of one bulkhead among those of its document.
//
// +kubebuilder:object:generate=false
type Verdict struct {
	// Bulkhead is the one that was given to Judge.
	Bulkhead *ServiceBulkhead
	// Entry is what the document is to hold for the bulkhead; nil means nothing. A
	// bulkhead that is not accepted keeps the entry that it had, if it had one.
	Entry *bulkheadconfig.Service
	// Altered says that the entry which it keeps is not the one that was last
	// accepted. Its status goes on naming the latter, which is how the next pass
	// knows.
	Altered bool
	// Reason and Message are those of ConditionAccepted.
	Reason, Message string
}

// Accepted says that the document is to hold the bulkhead as it is.
func (v Verdict) Accepted() bool { return v.Reason == ReasonAccepted }

// Judge says of each of the bulkheads that share a ConfigMap whether it is accepted
// and what the document is to hold for it. previous is what the document holds
// now, by service, and room how many bytes it may take. The order of the bulkheads
// does not matter; the verdicts come sorted by service, its winner first.
//
// Bulkheads that are being deleted are left out. Nothing can call their deletion
// off, so somebody's finalizer that holds one back must not hold back the
// bulkhead that takes its place.
func Judge(bulkheads []ServiceBulkhead, previous map[string]bulkheadconfig.Service, room int) []Verdict {
	claims := make([]claim, 0, len(bulkheads))
	for i := range bulkheads {
		if bulkheads[i].DeletionTimestamp.IsZero() {
			claims = append(claims, newClaim(&bulkheads[i], previous))
		}
	}
	return settle(claims, previous, room)
}

// settle decides between the claims to each service, and then which of the winners
// there is room for.
func settle(claims []claim, previous services, room int) []Verdict {
	slices.SortFunc(claims, claim.compare)
	verdicts := make([]Verdict, len(claims))
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
