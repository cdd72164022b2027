// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestCrashedComponentsComeBackWithTheirData(t *testing.T) {
	plane, err := Start(t.Context(), Options{WithoutControllerManager: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	client := clientOf(t, plane)
	kept := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), kept, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, component := range []string{APIServer, Etcd} {
		before := plane.Processes()[component]
		if err := plane.Crash(component); err != nil {
			t.Fatal(err)
		}
		if alive(before) {
			t.Errorf("%s: process %d lives on", component, before)
		}
		if err := plane.Revive(t.Context(), component); err != nil {
			t.Fatal(err)
		}
		if after := plane.Processes()[component]; after == before || !alive(after) {
			t.Errorf("%s: process %d became %d", component, before, after)
		}
		eventually(t, "what was there is there after a crash of "+component, func(ctx context.Context) bool {
			_, err := client.CoreV1().Namespaces().Get(ctx, kept.Name, metav1.GetOptions{})
			return err == nil
		})
	}
}

func TestFrozenServerAnswersWhenItThaws(t *testing.T) {
	plane := sharedPlane(t)
	thaw, err := plane.Freeze(APIServer)
	if err != nil {
		t.Fatal(err)
	}
	client := clientOf(t, plane)
	get := func(ctx context.Context) error {
		_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	frozen := get(ctx)
	if err := thaw(); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(frozen, context.DeadlineExceeded) {
		t.Errorf("frozen, it answered: %v", frozen)
	}
	eventually(t, "an answer", func(ctx context.Context) bool { return get(ctx) == nil })
}

func TestUnknownComponentsAreRefused(t *testing.T) {
	plane := sharedPlane(t)
	_, freezeErr := plane.Freeze("kube-proxy")
	for _, err := range []error{plane.Crash("kube-proxy"), plane.Revive(t.Context(), "kube-proxy"), freezeErr} {
		if !errors.Is(err, errUnknownComponent) {
			t.Errorf("got %v", err)
		}
	}
}
