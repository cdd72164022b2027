// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// fit turns away what the document has no room for. What the document holds
// stays, with its old values where the new ones are too long; newcomers are let
// in by age, then by name. Nearly always everything fits, and the verdicts are
// returned as they came.
func fit(verdicts []Verdict, previous services, room int) []Verdict {
	all := Collect(verdicts)
	if len(all) <= bulkheadconfig.MaxServices && encodedLen(all) <= room {
		return verdicts
	}
	fitted := slices.Clone(verdicts)
	book := newLedger(verdicts, previous, room)
	for _, c := range changes(verdicts, previous) {
		if fault := book.admit(c); fault != "" {
			fitted[c.index] = full(fitted[c.index], c.before, fault)
		}
	}
	return fitted
}

// full is the verdict on a bulkhead that there is no room for.
func full(v Verdict, before *bulkheadconfig.Service, fault string) Verdict {
	v.Entry = before
	if v.Accepted() { // an invalid bulkhead has a more useful thing to say
		v.Reason, v.Message = ReasonDocumentFull, fault
	}
	return v
}

// change is the step from what the document holds for a bulkhead to what it
// should hold.
type change struct {
	index  int // of the verdict
	name   string
	before *bulkheadconfig.Service // nil for a newcomer
	cost   int                     // bytes that the document grows by
	age    *ServiceBulkhead
}

// changes lists them in the order in which they are let in: first those that
// make room, then those of bulkheads that are in, then newcomers.
func changes(verdicts []Verdict, previous services) []change {
	var list []change
	for i, v := range verdicts {
		if v.Entry == nil {
			continue
		}
		c := change{index: i, name: v.Bulkhead.Service(), age: v.Bulkhead}
		c.cost = entryLen(c.name, *v.Entry)
		if before, ok := previous[c.name]; ok {
			c.before = &before
			c.cost -= entryLen(c.name, before)
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b change) int {
		return cmp.Or(
			cmp.Compare(a.class(), b.class()),
			a.age.CreationTimestamp.Compare(b.age.CreationTimestamp.Time),
			cmp.Compare(a.age.Name, b.age.Name),
		)
	})
	return list
}

func (c change) class() int {
	switch {
	case c.cost <= 0:
		return 0
	case c.before != nil:
		return 1
	default:
		return 2
	}
}

// ledger keeps count of what is in the document.
type ledger struct {
	entries, bytes, room int
}

// newLedger starts with what stays of the document: the old entries of the
// services that some bulkhead still wants.
func newLedger(verdicts []Verdict, previous services, room int) *ledger {
	book := &ledger{bytes: frameLen(), room: room}
	for _, v := range verdicts {
		name := v.Bulkhead.Service()
		if before, ok := previous[name]; ok && v.Entry != nil {
			book.entries++
			book.bytes += entryLen(name, before)
		}
	}
	return book
}

// admit lets a change in, or says why there is no room for it.
func (l *ledger) admit(c change) (fault string) {
	if c.before == nil && l.entries >= bulkheadconfig.MaxServices {
		return fmt.Sprintf("the ConfigMap holds %d bulkheads, the most that fit: give this one another configMapName",
			l.entries)
	}
	if c.cost > 0 && l.bytes+c.cost > l.room {
		return fmt.Sprintf("the document has %d bytes and %d more do not fit into %d: "+
			"give this bulkhead another configMapName, or make room in the ConfigMap", l.bytes, c.cost, l.room)
	}
	l.bytes += c.cost
	if c.before == nil {
		l.entries++
	}
	return ""
}

// Collect gathers what the document is to hold, by service.
func Collect(verdicts []Verdict) map[string]bulkheadconfig.Service {
	all := services{}
	for _, v := range verdicts {
		if v.Entry != nil {
			all[v.Bulkhead.Service()] = *v.Entry
		}
	}
	return all
}

// entryLen is how many bytes an entry adds to a document that is not empty. It
// is measured, not computed: how a document is laid out is bulkheadconfig's
// business.
func entryLen(name string, s bulkheadconfig.Service) int {
	other := name + "-"
	return encodedLen(services{name: s, other: s}) - encodedLen(services{other: s})
}

// frameLen is how many bytes a document has around its entries.
func frameLen() int {
	sample := bulkheadconfig.Service{ReclaimAfter: time.Second}
	return encodedLen(services{"x": sample}) - entryLen("x", sample)
}

// encodedLen is how many bytes the document of these services has.
func encodedLen(all services) int {
	text, err := bulkheadconfig.Encode(all)
	if err != nil {
		return 0 // render meets the same error, and reports it
	}
	return len(text)
}
