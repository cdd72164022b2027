// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/servicebulkhead/servicebulkhead/controllers/nudge"
)

// writtenBy is a ConfigMap that managers wrote, at so many minutes after epoch.
func writtenBy(t *testing.T, text string, managers map[string][]int) *corev1.ConfigMap {
	t.Helper()
	object := configMap(t, text)
	object.ManagedFields = nil
	for manager, minutes := range managers {
		for _, m := range minutes {
			entry := ownership(t, manager)
			entry.Time = new(metav1.NewTime(epoch.Add(time.Duration(m) * time.Minute)))
			object.ManagedFields = append(object.ManagedFields, entry)
		}
	}
	return object
}

// TestWhatAPassLeaves: it is what the ConfigMap holds that pods should follow, and
// since when.
func TestWhatAPassLeaves(t *testing.T) {
	old, wanted := document(t, services{"payments": entry(25)}), document(t, services{"payments": entry(50)})
	now := epoch.Add(time.Hour)
	ours := func(text string, minutes ...int) *corev1.ConfigMap {
		return writtenBy(t, text, map[string][]int{FieldOwner: minutes, "kubectl-label": {59}})
	}
	minute := func(m int) time.Time { return epoch.Add(time.Duration(m) * time.Minute) }
	unlabelled := ours(wanted.text, 7)
	unlabelled.Labels = nil
	timeless := ours(wanted.text, 7)
	for i := range timeless.ManagedFields {
		timeless.ManagedFields[i].Time = nil
	}
	tests := map[string]struct {
		object *corev1.ConfigMap
		after  outcome
		want   nudge.Document // none: nothing is told
	}{
		"created":                        {nil, outcome{wrote: true}, nudge.Document{Revision: wanted.revision, Written: now}},
		"changed":                        {ours(old.text, 7), outcome{wrote: true}, nudge.Document{Revision: wanted.revision, Written: now}},
		"as it was":                      {ours(wanted.text, 7), outcome{}, nudge.Document{Revision: wanted.revision, Written: minute(7)}},
		"as it was created":              {ours(wanted.text, 9, 7), outcome{}, nudge.Document{Revision: wanted.revision, Written: minute(7)}},
		"as it was, nobody knows when":   {timeless, outcome{}, nudge.Document{Revision: wanted.revision, Written: now}},
		"got its label back":             {unlabelled, outcome{wrote: true}, nudge.Document{Revision: wanted.revision, Written: minute(7)}},
		"must not be written":            {ours(old.text, 7), outcome{obstacle: "x"}, nudge.Document{Revision: old.revision, Written: minute(7)}},
		"none, and none is needed":       {nil, outcome{}, nudge.Document{}},
		"none, and it may not be":        {nil, outcome{obstacle: "x"}, nudge.Document{}},
		"somebody's, put right":          {writtenBy(t, old.text, map[string][]int{"kubectl-edit": {7}}), outcome{wrote: true}, nudge.Document{Revision: wanted.revision, Written: now}},
		"somebody's, of the same bytes":  {writtenBy(t, wanted.text, map[string][]int{"restore": {7}}), outcome{wrote: true}, nudge.Document{Revision: wanted.revision, Written: now}},
		"somebody's, not to be touched":  {writtenBy(t, old.text, map[string][]int{"kubectl-edit": {7}}), outcome{obstacle: "x"}, nudge.Document{}},
		"unreadable, not to be written":  {ours("{", 7), outcome{obstacle: "x"}, nudge.Document{}},
		"has our label and no document":  {ours("", 7), outcome{}, nudge.Document{}},
		"ours by the label of a restore": {writtenBy(t, wanted.text, nil), outcome{}, nudge.Document{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := pass{current: observe(test.object), desired: wanted, after: test.after}
			got, told := p.holds(now)
			if got.Revision != test.want.Revision || !got.Written.Equal(test.want.Written) || told != (test.want.Revision != "") {
				t.Errorf("got %v, %t; want %v", got, told, test.want)
			}
		})
	}
}

// heard notes what followers are told.
type heard struct {
	published map[types.NamespacedName]nudge.Document
	gone      int
}

func (h *heard) Published(key types.NamespacedName, d nudge.Document) { h.published[key] = d }
func (h *heard) Gone(types.NamespacedName)                            { h.gone++ }

func TestFollowersAreTold(t *testing.T) {
	h := &heard{published: map[types.NamespacedName]nudge.Document{}}
	r, key, d := &reconciler{followers: h}, types.NamespacedName{Name: "m"}, document(t, services{"payments": entry(25)})
	r.tell(key, pass{current: observe(nil), desired: d, after: outcome{wrote: true}})
	if h.published[key].Revision != d.revision || h.gone != 0 {
		t.Errorf("a write: told %v", h)
	}
	r.tell(key, pass{current: observe(nil)})
	if h.gone != 1 {
		t.Errorf("no ConfigMap: told %v", h)
	}
	r.tell(key, pass{current: observe(writtenBy(t, d.text, map[string][]int{"kubectl": {1}}))})
	if h.gone != 2 || len(h.published) != 1 {
		t.Errorf("somebody else's: told %v", h)
	}
}
