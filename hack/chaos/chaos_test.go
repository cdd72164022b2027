// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// TestAFewFaults is the short form of make chaos.
func TestAFewFaults(t *testing.T) {
	p := plan{kills: 4, edits: 3, serverCrashes: 1}
	if err := run(t.Context(), t.Output(), p, 1); err != nil {
		t.Error(err)
	}
}

func judged(t *testing.T, bulkheads ...v1alpha1.ServiceBulkhead) string {
	t.Helper()
	text, err := bulkheadconfig.Encode(v1alpha1.Collect(v1alpha1.Judge(bulkheads, nil, bulkheadconfig.MaxBytes)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestASnapshotIsJudged: what is not as it must be does not pass for settled.
func TestASnapshotIsJudged(t *testing.T) {
	b := *newRole(0, 1, 0, false).bulkhead(7)
	key := newRole(0, 1, 0, false).mapKey()
	text := judged(t, b)
	take := func(text string, b v1alpha1.ServiceBulkhead) snapshot {
		return snapshot{
			texts:     map[types.NamespacedName]string{key: text},
			bulkheads: map[types.NamespacedName][]v1alpha1.ServiceBulkhead{key: {b}},
		}
	}
	tests := map[string]struct {
		text string
		want string
	}{
		"cut off":     {text[:len(text)/2], "unexpected"},
		"other value": {judged(t, *newRole(0, 1, 0, false).bulkhead(8)), "should hold"},
		"empty":       {judged(t), "should hold"},
		"untold":      {text, "Ready is false, not true"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if err := take(test.text, b).settled(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
	lonely := snapshot{bulkheads: map[types.NamespacedName][]v1alpha1.ServiceBulkhead{key: {b}}}
	if err := lonely.settled(); err == nil {
		t.Error("a bulkhead without a ConfigMap counts as settled")
	}
}

// TestTheWitnessSees what is lost and what is torn.
func TestTheWitnessSees(t *testing.T) {
	s := newStirrer(nil, 1)
	w := newWitness(nil, s)
	r := newRole(0, 1, 0, false)
	s.note(r.namespace, r.service, 7)
	good, err := v1alpha1.Entry(r.bulkhead(7))
	if err != nil {
		t.Fatal(err)
	}
	torn := good
	torn.Limit = 8
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: r.configMap}}
	for _, test := range []struct {
		holds map[string]bulkheadconfig.Service
		want  string
	}{
		{map[string]bulkheadconfig.Service{}, ""}, // not yet there
		{map[string]bulkheadconfig.Service{r.service: good}, ""},
		{map[string]bulkheadconfig.Service{r.service: torn}, "nobody declared m1-s0"},
		{map[string]bulkheadconfig.Service{}, "m1-s0 is lost"},
	} {
		text, err := bulkheadconfig.Encode(test.holds)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(w.judge(object, string(text)), "; ")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%v: got %q, want %q", test.holds, got, test.want)
		}
	}
	if got := w.judge(object, "{"); len(got) != 1 {
		t.Errorf("unreadable: got %q", got)
	}
}

func TestConflictsAreTold(t *testing.T) {
	lines := []string{
		`operator-0: {"level":"ERROR","msg":"Reconciler error","err":"Operation cannot be fulfilled: the object has been modified"}`,
		`operator-0: {"level":"ERROR","msg":"Reconciler error","err":"connection refused"}`,
		`operator-1: panic: runtime error`,
	}
	if got := conflicts(lines); len(got) != 2 || got[0] != lines[0] || got[1] != lines[2] {
		t.Errorf("got %q", got)
	}
	if got := causes(lines[:2]); got != "2 × Reconciler error" {
		t.Errorf("got %q", got)
	}
}
