// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var aJob = job{configMap: configMap, doc: Document{Revision: revision(1)}, pod: target{name: "one", uid: "uid-one"}}

func TestPatch(t *testing.T) {
	want := `{"metadata":{"annotations":{"revision.servicebulkhead.io/service-bulkheads":"0000000000000001"},"uid":"uid-one"}}`
	if got := string(patch(aJob)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestAnnotationsAreValid, also for the longest name that spec.configMapName may be: 63
// characters, as many as the API server takes after the slash.
func TestAnnotationsAreValid(t *testing.T) {
	for _, name := range []string{configMapName, strings.Repeat("a", 63-len(configMapSuffix)) + configMapSuffix} {
		if problems := validation.IsQualifiedName(Annotation(name)); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

func TestResults(t *testing.T) {
	going := apierrors.NewForbidden(podsResource, "one", errors.New("going"))
	going.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	invalid := func(path string) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "one",
			field.ErrorList{field.Invalid(field.NewPath(path), "x", "field is immutable")})
	}
	tests := map[string]struct {
		err  error
		want result
	}{
		"fine":                {nil, sent},
		"no such pod":         {apierrors.NewNotFound(podsResource, "one"), gone},
		"gone":                {apierrors.NewResourceExpired("no more"), gone},
		"another of its name": {invalid("metadata.uid"), gone},
		"namespace going":     {going, gone},
		"conflict":            {apierrors.NewConflict(podsResource, "one", errors.New("modified")), overtaken},
		"forbidden":           {apierrors.NewForbidden(podsResource, "one", errors.New("no")), refused},
		"unauthorized":        {apierrors.NewUnauthorized("no"), refused},
		"invalid":             {invalid("metadata.annotations"), refused},
		"wrapped":             {fmt.Errorf("patch: %w", apierrors.NewForbidden(podsResource, "one", errors.New("no"))), refused},
		"too many requests":   {apierrors.NewTooManyRequests("later", 1), failed},
		"internal":            {apierrors.NewInternalError(errors.New("etcd")), failed},
		"no answer":           {context.DeadlineExceeded, failed},
		"away":                {errCut, failed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := resultOf(test.err); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestACauseIsToldOnceAnHour(t *testing.T) {
	c := complaints{told: map[string]time.Time{}}
	one := causeOf(apierrors.NewForbidden(podsResource, "shop-1", errors.New("no")), "shop-1")
	two := causeOf(apierrors.NewForbidden(podsResource, "shop-2", errors.New("no")), "shop-2")
	other := causeOf(apierrors.NewForbidden(podsResource, "shop-2", errors.New("never")), "shop-2")
	if !c.anew(one, epoch) || c.anew(two, epoch.Add(time.Minute)) || !c.anew(other, epoch.Add(time.Minute)) {
		t.Error("told by pod, not by cause")
	}
	if !c.anew(two, epoch.Add(quiet)) || len(c.told) != 2 {
		t.Errorf("an hour later: %v", c.told)
	}
	c.anew(one, epoch.Add(10*quiet))
	if len(c.told) != 1 {
		t.Errorf("remembers %v", c.told)
	}
}

// TestStuckEventsHaveOneName, whoever makes them, and one that the API server takes.
func TestStuckEventsHaveOneName(t *testing.T) {
	names := map[string]bool{}
	for _, pod := range []target{{"one", "1"}, {"one", "2"}, {strings.Repeat("a", 199) + ".-b", "3"}, {strings.Repeat("a.", 126) + "b", "4"}} {
		first, again := stuckEvent(configMap, pod, "operator"), stuckEvent(configMap, pod, "another")
		if first.Name != again.Name {
			t.Errorf("%s and %s", first.Name, again.Name)
		}
		if problems := validation.IsDNS1123Subdomain(first.Name); len(problems) > 0 {
			t.Errorf("%s: %v", first.Name, problems)
		}
		names[first.Name] = true
	}
	if len(names) != 4 {
		t.Errorf("got %v", names)
	}
}
