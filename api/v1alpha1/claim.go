// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// claim is a bulkhead that asks for its service's place in the document.
type claim struct {
	bulkhead *ServiceBulkhead
	service  string
	rank     rank
	// entry is what the document is to hold should the claim win; nil means
	// nothing.
	entry *bulkheadconfig.Service
	// fault says why the bulkhead is invalid; empty means that it is valid.
	fault string
	// altered says that the entry, kept for an invalid bulkhead, is not the one that
	// was last accepted.
	altered bool
}

// rank orders the claims to one service; the lowest wins.
type rank int

const (
	// rankHolder is a bulkhead that the document holds already. It stays, so that
	// an object which comes later, or an older one restored from a backup, cannot
	// take a service over from running pods.
	rankHolder rank = iota
	// rankWritten is a bulkhead whose very values the document holds though no
	// status says for whom: most likely the pass that wrote them ended before it
	// told the status.
	rankWritten
	rankValid
	// rankOrphan is an invalid bulkhead whose service the document holds though no
	// status says for whom, as after a restore, which loses statuses. Most likely
	// it was this one.
	rankOrphan
	rankInvalid
)

// newClaim weighs a bulkhead. That it is in the document is told by its status.
// The document names no owners: where no status tells, equal values are the best
// sign there is.
//
// An invalid bulkhead keeps what the document holds, even where somebody edited
// that by hand. The values that were last accepted then exist nowhere, and of what
// is left a limit that a person has typed is the safest: without an entry the
// service would fall to whatever its pods do with services that nobody declared.
func newClaim(b *ServiceBulkhead, previous services) claim {
	c := claim{bulkhead: b, service: b.Service()}
	kept, known := previous[c.service]
	c.entry, c.fault = entryOf(b)
	ref := b.Status.ConfigMapRef
	if c.fault != "" && known {
		c.entry = &kept
		c.altered = ref != nil && ref.Revision != kept.Revision()
	}
	switch {
	case ref != nil && c.entry != nil:
		c.rank = rankHolder
	case c.fault == "" && known && c.entry.Revision() == kept.Revision():
		c.rank = rankWritten
	case c.fault == "":
		c.rank = rankValid
	case known:
		c.rank = rankOrphan
	default:
		c.rank = rankInvalid
	}
	return c
}

// entryOf converts a valid bulkhead, or says what is wrong with it. Admission
// has checked the same rules; only an object that was stored before a rule
// existed fails here.
func entryOf(b *ServiceBulkhead) (entry *bulkheadconfig.Service, fault string) {
	e, err := Entry(b)
	if err != nil {
		return nil, err.Error()
	}
	return &e, ""
}

// compare sorts claims by service, the winner of each first: by rank, then the
// older, then the name, which no two bulkheads of a namespace share.
func (c claim) compare(other claim) int {
	a, b := c.bulkhead, other.bulkhead
	return cmp.Or(
		cmp.Compare(c.service, other.service),
		cmp.Compare(c.rank, other.rank),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

func (c claim) won() Verdict {
	if c.fault != "" {
		return c.kept()
	}
	return Verdict{
		Bulkhead: c.bulkhead,
		Entry:    c.entry,
		Reason:   ReasonAccepted,
		Message:  fmt.Sprintf("valid, and service %s is its own", c.service),
	}
}

func (c claim) lostTo(winner claim) Verdict {
	if c.fault != "" {
		return Verdict{Bulkhead: c.bulkhead, Reason: ReasonInvalid, Message: c.fault}
	}
	return Verdict{
		Bulkhead: c.bulkhead,
		Reason:   ReasonServiceConflict,
		Message: fmt.Sprintf("service %s belongs to ServiceBulkhead %s in ConfigMap %s: delete one of the two",
			c.service, winner.bulkhead.Name, c.bulkhead.ConfigMapName()),
	}
}

// kept is the verdict on an invalid bulkhead that has its service to itself.
func (c claim) kept() Verdict {
	v := Verdict{
		Bulkhead: c.bulkhead, Entry: c.entry, Altered: c.altered,
		Reason: ReasonInvalid, Message: c.fault,
	}
	switch {
	case c.altered:
		v.Message += fmt.Sprintf("; pods keep what the document holds, which is not what was last accepted (revision %s): "+
			"somebody changed it, and the old values are lost", c.bulkhead.Status.ConfigMapRef.Revision)
	case c.entry != nil:
		v.Message += "; pods keep the last accepted values"
	}
	return v
}
