// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// statuses is an API server that knows nothing but status patches: it answers some
// with an error and notes the others.
type statuses struct {
	client.SubResourceWriter
	answers map[string]error
	patched []string
}

// statusClient is the client of one.
type statusClient struct {
	client.Client
	server *statuses
}

func (c statusClient) Status() client.SubResourceWriter { return c.server }

func (s *statuses) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	if err := s.answers[object.GetName()]; err != nil {
		return err
	}
	s.patched = append(s.patched, object.GetName())
	return nil
}

// notes collects the events that are emitted.
type notes struct {
	recorder.EventRecorder
	lines []string
}

func (n *notes) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	n.lines = append(n.lines, kind+" "+reason+": "+fmt.Sprintf(note, args...))
}

func TestOneStatusDoesNotHoldTheOthersBack(t *testing.T) {
	resource := schema.GroupResource{Resource: "servicebulkheads"}
	conflict := apierrors.NewConflict(resource, "a", errors.New("modified"))
	forbidden := apierrors.NewForbidden(resource, "a", errors.New("policy"))
	away := errors.New("connection refused")
	tests := map[string]struct {
		answers map[string]error
		patched string
		errs    []error
	}{
		"overtaken": {map[string]error{"a": conflict}, "b c", []error{conflict}},
		"forbidden": {map[string]error{"a": forbidden}, "b c", []error{forbidden}},
		"both":      {map[string]error{"a": conflict, "b": forbidden}, "c", []error{conflict, forbidden}},
		"deleted":   {map[string]error{"b": apierrors.NewNotFound(resource, "b")}, "a c", nil},
		"no answer": {map[string]error{"b": away}, "a", []error{away}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := &statuses{answers: test.answers}
			r := &reconciler{client: statusClient{server: server}, events: new(notes)}
			verdicts := v1alpha1.Judge([]v1alpha1.ServiceBulkhead{bulkhead("a"), bulkhead("b"), bulkhead("c")}, nil, roomy)
			errs := r.report(t.Context(), verdicts, outcome{published: mustRender(t, verdicts).services})
			if got := strings.Join(server.patched, " "); got != test.patched {
				t.Errorf("patched %q, want %q", got, test.patched)
			}
			if !slices.EqualFunc(errs, test.errs, errors.Is) {
				t.Errorf("got %v, want %v", errs, test.errs)
			}
		})
	}
}

// TestEditOfAKeptEntryIsNotAccepted follows an entry that is kept for an invalid
// bulkhead through an edit by hand and the passes after it.
func TestEditOfAKeptEntryIsNotAccepted(t *testing.T) {
	const lost = "somebody changed it, and the old values are lost"
	object := configMap(t, document(t, services{"payments": entry(3)}).text)
	b, events := bulkhead("payments", invalid), &notes{}
	pass := func() (desired rendered, todo decision, message string) {
		current := observe(object)
		verdicts := v1alpha1.Judge([]v1alpha1.ServiceBulkhead{b}, current.services(), current.room())
		desired = mustRender(t, verdicts)
		todo = decide(current, desired)
		next := nextStatus(verdicts[0], outcome{published: desired.services})
		(&reconciler{events: events}).announce(verdicts[0], next)
		b.Status = next
		return desired, todo, verdicts[0].Message
	}

	if _, _, message := pass(); !strings.HasSuffix(message, "pods keep the last accepted values") {
		t.Fatalf("before the edit: %q", message)
	}
	object.Data = configMap(t, document(t, services{"payments": entry(65536)}).text).Data
	object.ManagedFields = []metav1.ManagedFieldsEntry{ownership(t, "kubectl-edit")}
	for i, want := range []writeReason{writeAdopted, ""} {
		desired, todo, message := pass()
		if todo.write != want || desired.services["payments"].Limit != 65536 {
			t.Errorf("pass %d after the edit: %+v, limit %d", i, todo, desired.services["payments"].Limit)
		}
		if !strings.HasSuffix(message, lost) || !slices.Equal(desired.altered, []string{"payments"}) {
			t.Errorf("pass %d after the edit: message %q, altered %q", i, message, desired.altered)
		}
		if got := b.Status.ConfigMapRef.Revision; got != entry(3).Revision() {
			t.Errorf("pass %d after the edit: the status takes %s for accepted", i, got)
		}
		object.ManagedFields = []metav1.ManagedFieldsEntry{ownership(t, FieldOwner)}
	}
	if got := events.lines; len(got) != 2 || !strings.HasPrefix(got[1], corev1.EventTypeWarning) || !strings.HasSuffix(got[1], lost) {
		t.Errorf("got events %q, want one more, about the edit", got)
	}
}
