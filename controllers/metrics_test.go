// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/controllers/nudge"
)

func TestMetricsFollowPrometheusConventions(t *testing.T) {
	beginSeries()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collectors()...)
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("got %v, %v", problems, err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "servicebulkhead_") || family.GetHelp() == "" {
			t.Errorf("%s: %q", family.GetName(), family.GetHelp())
		}
	}
	if len(families) < 10 {
		t.Errorf("got %d families, want all of them", len(families))
	}
}

// TestThePageHasEveryMetric, and none that is no more.
func TestThePageHasEveryMetric(t *testing.T) {
	text, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	descriptions := make(chan *prometheus.Desc, 100)
	for _, collector := range append(collectors(), nudge.Collectors()...) {
		collector.Describe(descriptions)
	}
	close(descriptions)
	exported := map[string]bool{}
	for d := range descriptions {
		name := regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1]
		exported[name] = true
		if !regexp.MustCompile("(?m)^\\| `" + name + "[`{]").Match(text) {
			t.Errorf("the page does not have %s", name)
		}
	}
	for _, found := range regexp.MustCompile("(?m)^\\| `(servicebulkhead_\\w+)").FindAllSubmatch(text, -1) {
		if !exported[string(found[1])] {
			t.Errorf("the page has %s, which nobody exports", found[1])
		}
	}
	if len(exported) < 13 {
		t.Errorf("only %d metrics", len(exported))
	}
}

func passOver(t *testing.T, previous services, bulkheads ...v1alpha1.ServiceBulkhead) pass {
	t.Helper()
	p := pass{verdicts: v1alpha1.Judge(bulkheads, previous, roomy)}
	p.desired = mustRender(t, p.verdicts)
	p.current = observe(configMap(t, document(t, previous).text))
	p.after = outcome{published: p.desired.services, wrote: true}
	return p
}

func TestCensusTellsSumsOnly(t *testing.T) {
	c := newCensus()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	empty, err := testutil.GatherAndCount(registry)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		key := types.NamespacedName{Namespace: "shop", Name: fmt.Sprintf("m%d-bulkheads", i)}
		c.note(key, recordOf(passOver(t, nil, bulkhead("payments"), bulkhead("z", service("payments")), bulkhead("wrong", invalid))))
	}
	if got, err := testutil.GatherAndCount(registry); err != nil || got != empty {
		t.Errorf("%d series for 50 ConfigMaps, %d for none; %v", got, empty, err)
	}
	want := `
# HELP servicebulkhead_bulkheads ServiceBulkheads, by the reason of their condition Ready; Published is the good one.
# TYPE servicebulkhead_bulkheads gauge
servicebulkhead_bulkheads{reason="ConfigMapConflict"} 0
servicebulkhead_bulkheads{reason="ConfigMapImmutable"} 0
servicebulkhead_bulkheads{reason="ConfigMapRefused"} 0
servicebulkhead_bulkheads{reason="DocumentFull"} 0
servicebulkhead_bulkheads{reason="Invalid"} 50
servicebulkhead_bulkheads{reason="Published"} 50
servicebulkhead_bulkheads{reason="ServiceConflict"} 50
# HELP servicebulkhead_published_entries Entries in all documents.
# TYPE servicebulkhead_published_entries gauge
servicebulkhead_published_entries 50
# HELP servicebulkhead_largest_document_entries Entries in the document that has the most; there is room for 512.
# TYPE servicebulkhead_largest_document_entries gauge
servicebulkhead_largest_document_entries 1
`
	err = testutil.GatherAndCompare(registry, strings.NewReader(want),
		"servicebulkhead_bulkheads", "servicebulkhead_published_entries", "servicebulkhead_largest_document_entries")
	if err != nil {
		t.Error(err)
	}
}

func TestCensusForgetsWhatIsGone(t *testing.T) {
	c, key := newCensus(), types.NamespacedName{Name: "service-bulkheads"}
	c.note(key, recordOf(passOver(t, nil, bulkhead("payments"))))
	text := document(t, services{"payments": entry(25)}).text
	if _, _, most, _ := c.sum(); most.bytes != len(text) {
		t.Errorf("got %d bytes, want %d", most.bytes, len(text))
	}
	c.note(key, recordOf(passOver(t, services{"payments": entry(25)})))
	if len(c.records) != 0 {
		t.Errorf("remembers %v", c.records)
	}
}

// TestEveryReasonHasASeries: what a status can say, the metric counts.
func TestEveryReasonHasASeries(t *testing.T) {
	b := bulkhead("payments")
	for _, reason := range []string{v1alpha1.ReasonInvalid, v1alpha1.ReasonServiceConflict, v1alpha1.ReasonDocumentFull} {
		p := pass{verdicts: []v1alpha1.Verdict{{Bulkhead: &b, Reason: reason}}}
		if got := recordOf(p).reasons; got[reason] != 1 || !slices.Contains(reasons, reason) {
			t.Errorf("%s: got %v", reason, got)
		}
	}
	accepted := v1alpha1.Verdict{Bulkhead: &b, Entry: new(entry(25)), Reason: v1alpha1.ReasonAccepted}
	for _, obstacle := range []string{
		v1alpha1.ReasonConfigMapConflict, v1alpha1.ReasonConfigMapImmutable, v1alpha1.ReasonConfigMapRefused,
	} {
		p := pass{verdicts: []v1alpha1.Verdict{accepted}, after: outcome{obstacle: obstacle}}
		if got := recordOf(p).reasons; got[obstacle] != 1 || !slices.Contains(reasons, obstacle) {
			t.Errorf("%s: got %v", obstacle, got)
		}
	}
}

func TestOutcomeOfAPass(t *testing.T) {
	maps := schema.GroupResource{Resource: "configmaps"}
	conflict := apierrors.NewConflict(maps, "m", errors.New("modified"))
	forbidden := apierrors.NewForbidden(maps, "m", errors.New("quota"))
	missing := apierrors.NewNotFound(maps, "m")
	wrote := pass{todo: decision{write: writeChanged}, after: outcome{wrote: true}}
	tests := map[string]struct {
		pass pass
		errs []error
		want passOutcome
	}{
		"nothing to do":    {pass{}, nil, passUnchanged},
		"written":          {wrote, nil, passWritten},
		"foreign map":      {pass{after: outcome{obstacle: "x"}}, nil, passBlocked},
		"refused":          {pass{todo: decision{write: writeChanged}, after: outcome{obstacle: "x"}}, []error{forbidden}, passBlocked},
		"overtaken":        {wrote, []error{conflict}, passOvertaken},
		"one of each":      {wrote, []error{forbidden, conflict}, passFailed},
		"the other way":    {wrote, []error{conflict, forbidden}, passFailed},
		"deleted by now":   {wrote, []error{missing}, passWritten},
		"namespace going":  {pass{todo: decision{write: writeMissing}}, []error{missing}, passUnchanged},
		"server away":      {pass{}, []error{errors.New("connection refused")}, passFailed},
		"first of a joint": {pass{}, []error{errors.Join(conflict)}, passOvertaken},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := outcomeOf(test.pass, test.errs); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestArrivalsKeepTheFirst(t *testing.T) {
	a, b := newArrivals(), bulkhead("payments")
	key := types.NamespacedName{Namespace: "shop", Name: "service-bulkheads"}
	if !a.take(key).IsZero() {
		t.Error("something has arrived before anything did")
	}
	for range 2 {
		if got := a.request(t.Context(), &b); len(got) != 1 || got[0].NamespacedName != key {
			t.Fatalf("got %v", got)
		}
	}
	first := a.take(key)
	if since := time.Since(first); since < 0 || since > time.Minute {
		t.Errorf("arrived %s ago", since)
	}
	a.note(key, first.Add(time.Second))
	a.note(key, first) // a pass that failed puts it back
	if got := a.take(key); !got.Equal(first) {
		t.Errorf("got %s, want %s", got, first)
	}
	if len(a.since) != 0 {
		t.Errorf("remembers %v", a.since)
	}
}

// TestAChangeIsMeasuredOnce, and waits since it arrived while its passes fail.
func TestAChangeIsMeasuredOnce(t *testing.T) {
	r, key := &reconciler{arrivals: newArrivals()}, types.NamespacedName{Name: "measured-bulkheads"}
	count := func() uint64 {
		t.Helper()
		registry := prometheus.NewRegistry()
		registry.MustRegister(publishDuration)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		return families[0].GetMetric()[0].GetHistogram().GetSampleCount()
	}
	before, arrived := count(), time.Now()
	r.measure(key, pass{}, []error{errors.New("connection refused")}, arrived)
	if got := r.arrivals.take(key); !got.Equal(arrived) {
		t.Errorf("after a failure: waits since %s, want %s", got, arrived)
	}
	wrote := passOver(t, nil, bulkhead("payments"))
	r.measure(key, wrote, nil, arrived)
	r.measure(key, wrote, nil, time.Time{}) // somebody edited the ConfigMap
	r.measure(key, pass{}, nil, arrived)    // a resync
	if got := count() - before; got != 1 {
		t.Errorf("measured %d times, want once", got)
	}
	if got := r.arrivals.take(key); !got.IsZero() {
		t.Errorf("still waits since %s", got)
	}
}
