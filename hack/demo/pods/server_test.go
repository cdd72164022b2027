// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
)

// told is what a story wrote, and how many of its checks failed.
type told struct {
	text   string
	failed int
}

// tell plays a part of the demo on a stage whose API server answers a few paths.
func tell(t *testing.T, answers map[string]http.HandlerFunc, part func(context.Context, *stage)) told {
	t.Helper()
	mux := http.NewServeMux()
	for path, answer := range answers {
		mux.HandleFunc("GET /api/v1/namespaces/shop/pods"+path, answer)
	}
	server := httptest.NewServer(mux)
	defer server.Close()
	set, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	teller := story.NewTeller(file)
	part(t.Context(), &stage{Teller: teller, set: set, payments: "payments-a", load: "load-a"})
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return told{string(text), teller.Failed()}
}

// says answers with a text.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(text))
	}
}

// pod is one in the state that the change gives it.
func pod(name string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: story.Namespace, Name: name}}
	change(p)
	return p
}

func serving(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

func draining(p *corev1.Pod) { serving(p); p.DeletionTimestamp = new(metav1.Now()) }

// ended lets a pod end with a termination message.
func ended(code int32, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		draining(p)
		p.Spec.TerminationGracePeriodSeconds = new(int64(45))
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message},
		}}}
	}
}
