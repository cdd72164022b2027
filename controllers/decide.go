// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// writeReason says why a ConfigMap is written. It is a label of the metric and
// the reason of the event.
type writeReason string

const (
	writeMissing    writeReason = "Missing"
	writeChanged    writeReason = "Changed"
	writeRevision   writeReason = "Revision"
	writeKeyMissing writeReason = "KeyMissing"
	writeUnreadable writeReason = "Unreadable"
	writeEdited     writeReason = "Edited"
	writeUnlabelled writeReason = "Unlabelled"
	writeAdopted    writeReason = "Adopted"
)

// drift says that somebody else undid what the operator had written.
func (r writeReason) drift() bool {
	switch r {
	case writeKeyMissing, writeUnreadable, writeEdited, writeUnlabelled:
		return true
	}
	return false
}

// decision is what a pass does with the ConfigMap.
type decision struct {
	// write says why to write it; empty means that it is as it should be.
	write writeReason
	// obstacle says why it must not be written though it should: a reason of the
	// condition Ready.
	obstacle string
}

// decide compares the ConfigMap with what it should hold.
func decide(current observed, desired rendered) decision {
	var d decision
	for _, needed := range policies {
		if reason, yes := needed(current, desired); yes {
			d.write = reason
			break
		}
	}
	switch {
	case d.write == "" || !current.exists():
	case len(desired.services) == 0 && !current.written():
		// Nobody needs it, and what is in it is not ours: a copy of a ConfigMap, label
		// and all, or a label by mistake. Only what we wrote ourselves do we empty.
		return decision{}
	case !current.ours():
		return decision{obstacle: v1alpha1.ReasonConfigMapConflict}
	case current.immutable() && !holds(current, desired):
		return decision{obstacle: v1alpha1.ReasonConfigMapImmutable}
	}
	return d
}

// holds says that the ConfigMap has the very bytes already, so that a write would
// change no more than its metadata.
func holds(current observed, desired rendered) bool {
	text, present := current.text()
	return present && text == desired.text
}

// policy is one reason to write a ConfigMap. The first that applies is taken.
type policy func(current observed, desired rendered) (writeReason, bool)

var policies = []policy{missing, keyMissing, unreadable, edited, changed, revised, unlabelled, adopted}

// missing creates a ConfigMap when there is something to put into it, and once
// more when somebody deleted it.
func missing(current observed, desired rendered) (writeReason, bool) {
	return writeMissing, !current.exists() && len(desired.services) > 0
}

// keyMissing adds our key. A ConfigMap that has our label, but neither our key nor
// a bulkhead that names it, is somebody's mistake with a label: it is left alone.
func keyMissing(current observed, desired rendered) (writeReason, bool) {
	_, present := current.text()
	return writeKeyMissing, current.exists() && !present && len(desired.services) > 0
}

// unreadable replaces what no agent can read.
func unreadable(current observed, _ rendered) (writeReason, bool) {
	_, present := current.text()
	return writeUnreadable, present && current.unreadable != nil
}

// edited restores our bytes where somebody else's have taken their place.
func edited(current observed, desired rendered) (writeReason, bool) {
	text, present := current.text()
	return writeEdited, present && text != desired.text && !current.written()
}

// changed compares parsed values. Bytes of ours that differ in nothing else are
// how another version of the operator lays a document out: an upgrade must not
// write every ConfigMap of a cluster.
func changed(current observed, desired rendered) (writeReason, bool) {
	_, present := current.text()
	return writeChanged, present && bulkheadconfig.Revision(current.document.Services) != desired.revision
}

// revised corrects a revision that does not belong to the values beside it, as
// another version of the operator may compute it.
func revised(current observed, desired rendered) (writeReason, bool) {
	_, present := current.text()
	return writeRevision, present && current.document.Revision != desired.revision
}

// unlabelled puts our label back: without it no change of the ConfigMap would be
// seen.
func unlabelled(current observed, _ rendered) (writeReason, bool) {
	_, present := current.text()
	return writeUnlabelled, present && !current.labelled()
}

// adopted takes over our bytes that somebody else put there, as a restore from a
// backup does: when the last bulkhead goes, it is by our name on them that we know
// them as ours to empty.
func adopted(current observed, _ rendered) (writeReason, bool) {
	_, present := current.text()
	return writeAdopted, present && !current.written()
}
