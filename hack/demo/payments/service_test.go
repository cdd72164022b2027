// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
)

func call(ctx context.Context, s *service, target string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	s.routes().ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, target, nil))
	return answer
}

// stats are what the service says it saw.
func stats(t *testing.T, s *service) (inFlight, peak, served int) {
	t.Helper()
	var got words.Payments
	if err := json.Unmarshal(call(t.Context(), s, "/stats").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	return got.InFlight, got.Peak, got.Served
}

func TestCallsAreCountedWhileTheyLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{latency: time.Second}
		for range 3 {
			go call(t.Context(), s, "/charge")
		}
		synctest.Wait()
		if inFlight, peak, served := stats(t, s); inFlight != 3 || peak != 3 || served != 0 {
			t.Errorf("at first: %d in flight, peak %d, %d served", inFlight, peak, served)
		}
		time.Sleep(1500 * time.Millisecond) // the bubble's clock: the longest that a call takes
		synctest.Wait()
		if inFlight, peak, served := stats(t, s); inFlight != 0 || peak != 3 || served != 3 {
			t.Errorf("in the end: %d in flight, peak %d, %d served", inFlight, peak, served)
		}
		call(t.Context(), s, "/reset")
		if _, peak, _ := stats(t, s); peak != 0 {
			t.Errorf("after a reset: peak %d", peak)
		}
	})
}

func TestAHungCallEndsWhenItsCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{latency: time.Second}
		if answer := call(t.Context(), s, "/latency?d=hang"); answer.Code != http.StatusOK {
			t.Fatal(answer.Body)
		}
		ctx, leave := context.WithCancel(t.Context())
		go call(ctx, s, "/charge")
		time.Sleep(time.Hour)
		if inFlight, _, _ := stats(t, s); inFlight != 1 {
			t.Errorf("after an hour: %d in flight", inFlight)
		}
		leave()
		synctest.Wait()
		if inFlight, _, served := stats(t, s); inFlight != 0 || served != 0 {
			t.Errorf("in the end: %d in flight, %d served", inFlight, served)
		}
	})
}

func TestAWrongLatencyIsRefused(t *testing.T) {
	s := &service{latency: time.Second}
	for _, wrong := range []string{"", "soon", "-1s"} {
		if answer := call(t.Context(), s, "/latency?d="+wrong); answer.Code != http.StatusBadRequest {
			t.Errorf("%q: %d", wrong, answer.Code)
		}
	}
	if s.latency != time.Second {
		t.Errorf("latency: %v", s.latency)
	}
}
