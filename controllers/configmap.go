// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

const (
	// ManagedLabel marks the ConfigMaps that the operator writes and watches. Its
	// value is "true". Setting it on a ConfigMap hands that over to the operator.
	ManagedLabel = "servicebulkhead.io/managed"

	// FieldOwner is the name under which the operator writes.
	FieldOwner = "servicebulkhead-operator"

	managedValue = "true"

	// maxConfigMapData is what the API server allows the values of one ConfigMap to
	// have together.
	maxConfigMapData = 1 << 20
)

var errNoDocument = errors.New("no document")

// observed is a ConfigMap as a pass found it.
type observed struct {
	object   *corev1.ConfigMap // nil when there is none
	document bulkheadconfig.Document
	// unreadable says why there is no document.
	unreadable error
}

// observe reads the document in a ConfigMap; nil stands for none.
func observe(object *corev1.ConfigMap) observed {
	o := observed{object: object, unreadable: errNoDocument}
	if text, ok := o.text(); ok {
		o.document, o.unreadable = bulkheadconfig.Decode([]byte(text))
	}
	return o
}

func (o observed) exists() bool { return o.object != nil }

// text is what stands under our key.
func (o observed) text() (string, bool) {
	if o.object == nil {
		return "", false
	}
	text, ok := o.object.Data[bulkheadconfig.Key]
	return text, ok
}

// ours says whether we may write the ConfigMap: it has our label, or our key is
// ours, as when somebody removed the label. Our key among the binary data cannot
// be ours, and the API server would refuse to have it twice.
func (o observed) ours() bool {
	return !o.taken() && (o.labelled() || o.written())
}

// taken says whether our key is among the binary data.
func (o observed) taken() bool {
	if o.object == nil {
		return false
	}
	_, taken := o.object.BinaryData[bulkheadconfig.Key]
	return taken
}

// written says whether the present text under our key is ours.
func (o observed) written() bool {
	return o.object != nil && slices.Contains(o.writers(), FieldOwner)
}

func (o observed) labelled() bool {
	return o.object != nil && o.object.Labels[ManagedLabel] == managedValue
}

func (o observed) immutable() bool {
	return o.object != nil && o.object.Immutable != nil && *o.object.Immutable
}

// writers names who wrote the present text under our key, by the API server's own
// account: whoever changes it takes it over, also from us.
func (o observed) writers() []string {
	var names []string
	for _, entry := range o.object.ManagedFields {
		if ownsKey(entry) && !slices.Contains(names, entry.Manager) {
			names = append(names, entry.Manager)
		}
	}
	return names
}

// writtenAt is when we wrote the present text under our key, or later, by the API
// server's own account. Two entries may be ours, of the create and of the applies; each
// tells when it last changed, and the text has been the same in all of them since.
// Where none tells, as whoever rewrites managedFields may have it, it is now.
func (o observed) writtenAt(now time.Time) (at time.Time) {
	for _, entry := range o.object.ManagedFields {
		if entry.Manager != FieldOwner || entry.Time == nil || !ownsKey(entry) {
			continue
		}
		if at.IsZero() || entry.Time.Time.Before(at) {
			at = entry.Time.Time
		}
	}
	if at.IsZero() {
		return now
	}
	return at
}

func ownsKey(entry metav1.ManagedFieldsEntry) bool {
	var fields struct {
		Data map[string]json.RawMessage `json:"f:data"`
	}
	if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
		return false
	}
	_, ok := fields.Data["f:"+bulkheadconfig.Key]
	return ok
}

// services is what pods read from the ConfigMap; nothing when it is not ours.
func (o observed) services() services {
	if !o.ours() {
		return nil
	}
	return o.document.Services
}

// room is how many bytes the document may have: what the format allows, less
// where other keys of the ConfigMap take up the space.
func (o observed) room() int {
	room := maxConfigMapData
	if o.ours() {
		for key, value := range o.object.Data {
			if key != bulkheadconfig.Key {
				room -= len(value)
			}
		}
		for _, value := range o.object.BinaryData {
			room -= len(value)
		}
	}
	return min(room, bulkheadconfig.MaxBytes)
}
