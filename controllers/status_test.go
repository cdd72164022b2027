// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// summary is a status as the tables below write it.
func summary(s v1alpha1.ServiceBulkheadStatus) string {
	line := ""
	for _, kind := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionReady, v1alpha1.ConditionStalled} {
		if c := meta.FindStatusCondition(s.Conditions, kind); c != nil {
			line += kind + "=" + string(c.Status) + "/" + c.Reason + " "
		}
	}
	if s.ConfigMapRef != nil {
		line += s.ConfigMapRef.Name + "@" + s.ConfigMapRef.Revision
	}
	return line
}

func TestNextStatus(t *testing.T) {
	b := bulkhead("payments")
	accepted := v1alpha1.Verdict{Bulkhead: &b, Entry: new(entry(25)), Reason: v1alpha1.ReasonAccepted}
	refused := func(reason string, kept bool) v1alpha1.Verdict {
		v := v1alpha1.Verdict{Bulkhead: &b, Reason: reason, Message: "because"}
		if kept {
			v.Entry = new(entry(7))
		}
		return v
	}
	now, before := services{"payments": entry(25)}, services{"payments": entry(7)}
	at, atBefore := "service-bulkheads@"+entry(25).Revision(), "service-bulkheads@"+entry(7).Revision()

	tests := map[string]struct {
		verdict v1alpha1.Verdict
		after   outcome
		want    string
	}{
		"published": {accepted, outcome{published: now}, "Accepted=True/Accepted Ready=True/Published " + at},
		"foreign map": {
			accepted, outcome{obstacle: v1alpha1.ReasonConfigMapConflict},
			"Accepted=True/Accepted Ready=False/ConfigMapConflict Stalled=True/ConfigMapConflict ",
		},
		"immutable map with the old values": {
			accepted, outcome{published: before, obstacle: v1alpha1.ReasonConfigMapImmutable},
			"Accepted=True/Accepted Ready=False/ConfigMapImmutable Stalled=True/ConfigMapImmutable " + atBefore,
		},
		"immutable map with the present values": {
			accepted, outcome{published: now, obstacle: v1alpha1.ReasonConfigMapImmutable}, "Accepted=True/Accepted Ready=True/Published " + at,
		},
		"write refused": {
			accepted, outcome{published: before, obstacle: v1alpha1.ReasonConfigMapRefused, refusal: "quota"},
			"Accepted=True/Accepted Ready=False/ConfigMapRefused Stalled=True/ConfigMapRefused " + atBefore,
		},
		"invalid from the start": {
			refused(v1alpha1.ReasonInvalid, false), outcome{},
			"Accepted=False/Invalid Ready=False/Invalid Stalled=True/Invalid ",
		},
		"invalid, entry kept": {
			refused(v1alpha1.ReasonInvalid, true), outcome{published: before},
			"Accepted=False/Invalid Ready=False/Invalid Stalled=True/Invalid " + atBefore,
		},
		"another has the service": {
			refused(v1alpha1.ReasonServiceConflict, false), outcome{published: now},
			"Accepted=False/ServiceConflict Ready=False/ServiceConflict Stalled=True/ServiceConflict ",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := nextStatus(test.verdict, test.after)
			if s := summary(got); s != test.want {
				t.Errorf("got  %s\nwant %s", s, test.want)
			}
			if got.ObservedGeneration != 1 || got.Service != "payments" {
				t.Errorf("observedGeneration %d, service %q", got.ObservedGeneration, got.Service)
			}
		})
	}
}

// TestStatusIsQuiet: a second look at the same state changes nothing at all.
func TestStatusSaysThatShadowProtectsNobody(t *testing.T) {
	for enforcement, want := range map[bulkheadconfig.Enforcement]string{
		bulkheadconfig.Enforce: "in ConfigMap service-bulkheads; pods that mount it follow within 90s",
		bulkheadconfig.Shadow:  "in ConfigMap service-bulkheads, in Shadow: every call is admitted; pods that mount it follow within 90s",
	} {
		b, published := bulkhead("payments"), entry(25)
		published.Enforcement = enforcement
		v := v1alpha1.Verdict{Bulkhead: &b, Entry: &published, Reason: v1alpha1.ReasonAccepted}
		next := nextStatus(v, outcome{published: services{"payments": published}})
		if got := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady).Message; got != want {
			t.Errorf("%s: %q, want %q", enforcement, got, want)
		}
	}
}

func TestAConflictSaysWhatIsInTheWay(t *testing.T) {
	b := bulkhead("payments")
	v := v1alpha1.Verdict{Bulkhead: &b, Entry: new(entry(25)), Reason: v1alpha1.ReasonAccepted}
	for want, taken := range map[string]bool{"hand it over with the label": false, "among its binaryData": true} {
		next := nextStatus(v, outcome{obstacle: v1alpha1.ReasonConfigMapConflict, taken: taken})
		if got := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionStalled).Message; !strings.Contains(got, want) {
			t.Errorf("%q, want %q in it", got, want)
		}
	}
}

func TestStatusIsQuiet(t *testing.T) {
	b := bulkhead("payments")
	v := v1alpha1.Verdict{Bulkhead: &b, Entry: new(entry(25)), Reason: v1alpha1.ReasonAccepted}
	all := services{"payments": entry(25)}
	b.Status = nextStatus(v, outcome{published: all})
	if next := nextStatus(v, outcome{published: all}); !equality.Semantic.DeepEqual(b.Status, next) {
		t.Errorf("got %+v, want %+v", next, b.Status)
	}
}

// TestTransitionTimeMovesWithTheStatusOnly, not with reason, message or
// generation; and conditions of others stay.
func TestTransitionTimeMovesWithTheStatusOnly(t *testing.T) {
	b := bulkhead("payments")
	then := metav1.NewTime(epoch.Add(-time.Hour))
	for _, kind := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionReady, "Theirs"} {
		b.Status.Conditions = append(b.Status.Conditions,
			metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Former", LastTransitionTime: then})
	}
	b.Generation = 2
	v := v1alpha1.Verdict{Bulkhead: &b, Entry: new(entry(25)), Reason: v1alpha1.ReasonAccepted}

	ready := nextStatus(v, outcome{published: services{"payments": entry(25)}})
	for _, c := range ready.Conditions {
		if !c.LastTransitionTime.Equal(&then) {
			t.Errorf("%s moved to %s", c.Type, c.LastTransitionTime)
		}
	}
	if c := meta.FindStatusCondition(ready.Conditions, "Theirs"); c == nil || c.Reason != "Former" {
		t.Errorf("somebody else's condition became %+v", c)
	}
	notReady := nextStatus(v, outcome{obstacle: v1alpha1.ReasonConfigMapConflict})
	if c := meta.FindStatusCondition(notReady.Conditions, v1alpha1.ConditionReady); c.LastTransitionTime.Equal(&then) {
		t.Error("Ready changed its status and not its time")
	}
	b.Status = notReady
	again := nextStatus(v, outcome{published: services{"payments": entry(25)}})
	if c := meta.FindStatusCondition(again.Conditions, v1alpha1.ConditionStalled); c != nil {
		t.Errorf("Stalled is left over: %+v", c)
	}
}

// TestJudgingSettles feeds a pass's outcome to the next, as the controller does:
// the second pass must agree with the first.
func TestJudgingSettles(t *testing.T) {
	bulkheads := []v1alpha1.ServiceBulkhead{
		bulkhead("a", service("payments"), younger(time.Hour)), bulkhead("b", service("payments")),
		bulkhead("kept", invalid), bulkhead("search"), bulkhead("wrong", invalid),
	}
	previous := services{"kept": entry(3)}
	first := v1alpha1.Judge(bulkheads, previous, roomy)
	desired := mustRender(t, first)
	for i := range bulkheads {
		for _, v := range first {
			if v.Bulkhead.Name == bulkheads[i].Name {
				bulkheads[i].Status = nextStatus(v, outcome{published: desired.services})
			}
		}
	}
	second := v1alpha1.Judge(bulkheads, desired.services, roomy)
	for i, want := range first {
		got := second[i]
		if got.Bulkhead.Name != want.Bulkhead.Name || got.Reason != want.Reason || !reflect.DeepEqual(got.Entry, want.Entry) {
			t.Errorf("got  %s %s %+v\nwant %s %s %+v", got.Bulkhead.Name, got.Reason, got.Entry, want.Bulkhead.Name, want.Reason, want.Entry)
		}
	}
}

func TestANoteFitsAnEvent(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("x", maxNote)} {
		if got := note(text); got != text {
			t.Errorf("of %d bytes: got %d", len(text), len(got))
		}
	}
	for _, text := range []string{strings.Repeat("x", maxNote+1), strings.Repeat("é", maxNote)} {
		if got := note(text); len(got) > maxNote || len(got) < maxNote-3 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
			t.Errorf("of %d bytes: got %d, %q", len(text), len(got), got[len(got)-9:])
		}
	}
}
