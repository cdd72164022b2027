// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

func TestDecide(t *testing.T) {
	is := document(t, services{"payments": entry(25)})
	other := document(t, services{"payments": entry(7)})
	empty := document(t, services{})
	ours := func(text string, changes ...func(*corev1.ConfigMap)) *corev1.ConfigMap {
		object := configMap(t, text)
		for _, change := range changes {
			change(object)
		}
		return object
	}
	byHand := func(object *corev1.ConfigMap) {
		object.ManagedFields = []metav1.ManagedFieldsEntry{ownership(t, "kubectl-edit")}
	}
	unlabel := func(object *corev1.ConfigMap) { object.Labels = nil }
	freeze := func(object *corev1.ConfigMap) { object.Immutable = new(true) }
	dropKey := func(object *corev1.ConfigMap) {
		object.Data, object.ManagedFields = map[string]string{"theirs": "1"}, nil
	}
	toBinary := func(object *corev1.ConfigMap) {
		dropKey(object)
		object.BinaryData = map[string][]byte{bulkheadconfig.Key: {1}}
	}
	spaced := strings.ReplaceAll(is.text, "  ", "\t")
	staleRevision := strings.Replace(is.text, is.revision, "0123456789abcdef", 1)

	tests := map[string]struct {
		object  *corev1.ConfigMap
		desired rendered
		want    decision
	}{
		"as it should be":                      {ours(is.text), is, decision{}},
		"none, and nothing to publish":         {nil, empty, decision{}},
		"none":                                 {nil, is, decision{write: writeMissing}},
		"other values":                         {ours(is.text), other, decision{write: writeChanged}},
		"the last one gone":                    {ours(is.text), empty, decision{write: writeChanged}},
		"the layout of another version":        {ours(spaced), is, decision{}},
		"the revision of another version":      {ours(staleRevision), is, decision{write: writeRevision}},
		"values changed by hand":               {ours(other.text, byHand), is, decision{write: writeEdited}},
		"layout changed by hand":               {ours(spaced, byHand), is, decision{write: writeEdited}},
		"restored from a backup":               {ours(is.text, byHand), is, decision{write: writeAdopted}},
		"unreadable":                           {ours("{", byHand), is, decision{write: writeUnreadable}},
		"emptied":                              {ours("", byHand), is, decision{write: writeUnreadable}},
		"key removed":                          {ours("", dropKey), is, decision{write: writeKeyMissing}},
		"label but no key and nothing to do":   {ours("", dropKey), empty, decision{}},
		"label removed":                        {ours(is.text, unlabel), is, decision{write: writeUnlabelled}},
		"foreign":                              {ours("", dropKey, unlabel), is, decision{obstacle: v1alpha1.ReasonConfigMapConflict}},
		"foreign, nothing to publish":          {ours("", dropKey, unlabel), empty, decision{}},
		"foreign, with our key":                {ours(other.text, byHand, unlabel), is, decision{obstacle: v1alpha1.ReasonConfigMapConflict}},
		"foreign, with just our document":      {ours(is.text, byHand, unlabel), is, decision{obstacle: v1alpha1.ReasonConfigMapConflict}},
		"our key among the binary data":        {ours("", toBinary), is, decision{obstacle: v1alpha1.ReasonConfigMapConflict}},
		"immutable, other values":              {ours(is.text, freeze), other, decision{obstacle: v1alpha1.ReasonConfigMapImmutable}},
		"immutable, as it should be":           {ours(is.text, freeze), is, decision{}},
		"immutable, label removed":             {ours(is.text, freeze, unlabel), is, decision{write: writeUnlabelled}},
		"foreign and immutable, other values":  {ours("", dropKey, unlabel, freeze), is, decision{obstacle: v1alpha1.ReasonConfigMapConflict}},
		"immutable, restored from a backup":    {ours(is.text, byHand, freeze), is, decision{write: writeAdopted}},
		"immutable, another layout, no label":  {ours(spaced, freeze, unlabel), is, decision{obstacle: v1alpha1.ReasonConfigMapImmutable}},
		"a copy that nobody needs":             {ours(other.text, byHand), empty, decision{}},
		"an unreadable copy that nobody needs": {ours("{", byHand), empty, decision{}},
		"a copy of an empty one":               {ours(empty.text, byHand), empty, decision{}},
		"a foreign document that nobody needs": {ours(other.text, byHand, unlabel), empty, decision{}},
		"the last one gone, and the label too": {ours(is.text, unlabel), empty, decision{write: writeChanged}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := decide(observe(test.object), test.desired); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestO20EqualDurationsAreEqual is the pure part of case O20: 60s and 1m give the
// same bytes, so there is nothing to write.
func TestO20EqualDurationsAreEqual(t *testing.T) {
	seconds, minutes := bulkhead("payments"), bulkhead("payments")
	seconds.Spec.ReclaimAfter, minutes.Spec.ReclaimAfter = "60s", "1m"
	a := mustRender(t, v1alpha1.Judge([]v1alpha1.ServiceBulkhead{seconds}, nil, roomy))
	b := mustRender(t, v1alpha1.Judge([]v1alpha1.ServiceBulkhead{minutes}, nil, roomy))
	if a.text != b.text {
		t.Errorf("60s gives\n%s\n1m gives\n%s", a.text, b.text)
	}
	if got := decide(observe(configMap(t, a.text)), b); got != (decision{}) {
		t.Errorf("got %+v, want nothing to do", got)
	}
}

func TestForeignDocumentIsNotRead(t *testing.T) {
	object := configMap(t, document(t, services{"payments": entry(25)}).text)
	if got := observe(object).services(); len(got) != 1 {
		t.Errorf("ours: got %v, want one service", got)
	}
	object.Labels, object.ManagedFields = nil, nil
	if got := observe(object).services(); got != nil {
		t.Errorf("foreign: got %v, want none", got)
	}
}

// TestRoomIsWhatOtherKeysLeave, as the API server counts it.
func TestRoomIsWhatOtherKeysLeave(t *testing.T) {
	object := configMap(t, strings.Repeat("x", 5000))
	if got := observe(object).room(); got != bulkheadconfig.MaxBytes {
		t.Errorf("got %d, want %d", got, bulkheadconfig.MaxBytes)
	}
	object.Data["theirs"] = strings.Repeat("x", 900_000)
	object.BinaryData = map[string][]byte{"theirs.bin": make([]byte, 100_000)}
	if got, want := observe(object).room(), maxConfigMapData-1_000_000; got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}

func TestDriftNoteNamesWhoAndWhat(t *testing.T) {
	object := configMap(t, "{")
	object.ManagedFields = []metav1.ManagedFieldsEntry{ownership(t, "kubectl-edit"), ownership(t, "helm")}
	var desired rendered
	for reason, want := range map[writeReason]string{
		writeEdited:     "put back bulkheads.v1.json, which kubectl-edit, helm had changed",
		writeKeyMissing: "put back bulkheads.v1.json, which was missing",
		writeUnlabelled: "put back the label servicebulkhead.io/managed, which was missing",
	} {
		if got := driftNote(reason, observe(object), desired); got != want {
			t.Errorf("%s: got %q, want %q", reason, got, want)
		}
	}
	object.ManagedFields = nil
	if got, want := driftNote(writeUnreadable, observe(object), desired), "put back bulkheads.v1.json, which somebody else had changed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	desired.altered = []string{"payments", "search"}
	if got, want := driftNote(writeEdited, observe(object), desired), "put back bulkheads.v1.json, which somebody else had changed; "+
		"but not the last accepted values of payments, search, which are lost"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
