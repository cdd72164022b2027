// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
)

// Every act says what it shows.
func TestActs(t *testing.T) {
	for _, a := range acts {
		if a.Title == "" || a.Text == "" || a.Play == nil {
			t.Errorf("act %q is not complete", a.Title)
		}
	}
}

func TestArrivals(t *testing.T) {
	limit := func(n string) http.HandlerFunc {
		return says(`{"source": {"revision": "1"}, "services": [{"name": "search", "limit": 1}, {"name": "payments", "limit": ` + n + `}]}`)
	}
	asked := 0
	changes := func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked < 3 {
			limit("25")(w, r)
			return
		}
		limit("10")(w, r)
	}
	paths := map[string]http.HandlerFunc{
		"/http:shop-a:8080/proxy/debug/bulkheads": limit("10"),
		"/http:shop-b:8080/proxy/debug/bulkheads": changes,
	}
	tell(t, paths, func(ctx context.Context, s *stage) {
		moments, err := s.arrivals(ctx, []string{"shop-a", "shop-b"}, 10)
		if err != nil || len(moments) != 2 || latest(moments) != moments[1] {
			t.Errorf("%v, %v", moments, err)
		}
		if asked != 3 {
			t.Errorf("asked %d times", asked)
		}
		ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if _, err := s.arrivals(ctx, []string{"shop-a"}, 40); err == nil || !strings.Contains(err.Error(), "limit 40 in pod shop-a") {
			t.Errorf("error: %v", err)
		}
	})
}

func TestAPodThatDoesNotAnswerIsNamed(t *testing.T) {
	tell(t, nil, func(ctx context.Context, s *stage) {
		if _, err := s.agent(ctx, "shop-b"); err == nil || !strings.Contains(err.Error(), "pod shop-b for debug/bulkheads") {
			t.Errorf("error: %v", err)
		}
	})
}

func TestPodsThatEndAreLeftOut(t *testing.T) {
	list, err := json.Marshal(corev1.PodList{Items: []corev1.Pod{*pod("shop-b", serving), *pod("shop-c", draining), *pod("shop-a", func(*corev1.Pod) {})}})
	if err != nil {
		t.Fatal(err)
	}
	tell(t, map[string]http.HandlerFunc{"": says(string(list))}, func(ctx context.Context, s *stage) {
		if names, err := s.names(ctx, shopApp); err != nil || !slices.Equal(names, []string{"shop-a", "shop-b"}) {
			t.Errorf("%v, %v", names, err)
		}
		if states, err := s.states(ctx); err != nil || states != "pods: 1 starting, 1 serving, 1 draining" {
			t.Errorf("%q, %v", states, err)
		}
		if name, err := s.onlyPod(ctx, shopApp); err == nil {
			t.Errorf("%s is not the only pod", name)
		}
	})
}

func TestPodLine(t *testing.T) {
	begin := time.Now()
	before := podSample{at: begin, Bulkhead: words.Bulkhead{Counts: words.Counts{Admitted: 100, Saturated: 10}}}
	now := podSample{begin.Add(2 * time.Second), "shop-6f4b-x2x5k", "0123456789abcdef", words.Bulkhead{
		Limit: new(10), InFlight: 10, Waiting: 4, Counts: words.Counts{Admitted: 300, Saturated: 70},
	}}
	got := (&stage{Teller: &story.Teller{}}).podLine(begin, before, now)
	if want := "   2.0s  x2x5k  █████│••                  10 of 10         4         100      30  0123456789abcdef"; got != want {
		t.Errorf("\ngot  %q\nwant %q", got, want)
	}
	if legend := strings.Index(lineHeader, "█"); legend != strings.Index(got, "█") {
		t.Errorf("the header's columns are others:\n%s\n%s", lineHeader, got)
	}
}

// The pods that are waited for are taken as they were in the end.
func TestAwaitGone(t *testing.T) {
	events := watch.NewFakeWithOptions(watch.FakeOptions{ChannelSize: 5})
	events.Add(pod("shop-a", serving))
	events.Delete(pod("shop-z", draining))
	events.Modify(pod("shop-a", draining))
	events.Delete(pod("shop-a", ended(0, "last words")))
	report := map[string]http.HandlerFunc{"/http:load-a:8083/proxy/report": says("{}")}
	tell(t, report, func(ctx context.Context, s *stage) {
		gone, err := s.awaitGone(ctx, events, []string{"shop-a"})
		if err != nil || len(gone) != 1 || endOf(gone[0]).Message != "last words" {
			t.Errorf("%v, %v", gone, err)
		}
		events.Stop()
		if _, err := s.awaitGone(ctx, events, []string{"shop-b"}); err == nil {
			t.Error("the watch had ended")
		}
	})
}
