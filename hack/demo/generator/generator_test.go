// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/load"
)

// service answers requests in the bubble of a test, where there is no network.
type service struct {
	takes time.Duration

	mu     sync.Mutex
	served int
	answer func(n int) (status int, pod, body string, err error)
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.served++
	status, pod, body, err := s.answer(s.served)
	s.mu.Unlock()
	select {
	case <-time.After(s.takes):
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	}
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if pod != "" {
		header.Set(load.PodHeader, pod)
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Header: header,
		Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

func sells(int) (int, string, string, error) { return 200, "shop-1", "sold", nil }

// start runs a generator; the function that it returns ends it and waits.
func start(t *testing.T, s *service, rate float64) (*generator, func()) {
	t.Helper()
	g := newGenerator(&http.Client{Transport: s, Timeout: load.AnswerTimeout}, http.MethodPost, "http://shop/buy", rate)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.run(ctx)
	}()
	return g, func() {
		stop()
		<-ended
	}
}

// ask asks the generator, and wants 200.
func ask(t *testing.T, g *generator, path string) string {
	t.Helper()
	answer := httptest.NewRecorder()
	g.routes().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, answer.Code, answer.Body)
	}
	return answer.Body.String()
}

func reported(t *testing.T, g *generator) report {
	t.Helper()
	var r report
	if err := json.Unmarshal([]byte(ask(t, g, "/report")), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSlowAnswersSlowNothingDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{takes: 3 * time.Second, answer: sells}
		g, end := start(t, s, 500)
		time.Sleep(2*time.Second + time.Millisecond) // the bubble's clock
		synctest.Wait()
		if r := reported(t, g); r.Sent != 1000 || r.InFlight != 1000 || r.Answered != 0 {
			t.Errorf("after two seconds: %+v", r)
		}
		end()
		r := reported(t, g)
		if r.Sent != 1000 || r.InFlight != 0 || r.OK != 1000 || r.ByPod["shop-1"].OK != 1000 || r.P50 != 3000 || r.P99 != 3000 {
			t.Errorf("in the end: %+v", r)
		}
	})
}

func TestTheRateCanBeChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: sells}
		g, end := start(t, s, 0)
		defer end()
		sentIn := func(d time.Duration) int {
			before := g.report().Sent
			time.Sleep(d)
			synctest.Wait()
			return g.report().Sent - before
		}
		if n := sentIn(time.Hour); n != 0 {
			t.Errorf("at first: %d", n)
		}
		for path, want := range map[string]int{"/rate?rps=500": 5000, "/rate?rps=0.5": 5, "/rate?rps=0": 0, "/rate?rps=7": 70} {
			ask(t, g, path)
			if n := sentIn(10 * time.Second); n != want {
				t.Errorf("%s: %d in 10s, want %d", path, n, want)
			}
		}
	})
}

func TestAWrongRateIsRefused(t *testing.T) {
	g := newGenerator(http.DefaultClient, http.MethodPost, "", 0)
	for _, wrong := range []string{"", "many", "-1", "NaN", "Inf", "1e9"} {
		answer := httptest.NewRecorder()
		g.routes().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/rate?rps="+wrong, nil))
		if answer.Code != http.StatusBadRequest || !strings.HasPrefix(answer.Body.String(), "rps: ") {
			t.Errorf("%q: %d %s", wrong, answer.Code, answer.Body)
		}
	}
	err := run(t.Context(), options{rate: -1}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "rate: must be from 0 to 100000 a second, is -1") {
		t.Errorf("error: %v", err)
	}
}

func TestWhatBecameOfRequestsIsTold(t *testing.T) {
	refused := errors.New("connection refused")
	synctest.Test(t, func(t *testing.T) {
		s := &service{takes: time.Second, answer: func(n int) (int, string, string, error) {
			switch n % 5 {
			case 0:
				return 503, "shop-1", "saturated", nil
			case 1:
				return 504, "shop-2", "reclaimed", nil
			case 2:
				return 503, "shop-2", "draining", nil
			case 3:
				return 0, "", "", refused
			default:
				return 200, "", "sold", nil
			}
		}}
		g, end := start(t, s, 100)
		began := time.Now()
		time.Sleep(5*time.Second + time.Millisecond)
		end()
		r := reported(t, g)
		if (r.Counts != load.Counts{OK: 100, Shed: 100, TimedOut: 100, Failed: 200}) || r.Sent != 500 || r.Answered != 400 {
			t.Errorf("%+v", r)
		}
		if r.ByPod["shop-1"] != (load.Counts{Shed: 100}) || r.ByPod["shop-2"] != (load.Counts{TimedOut: 100, Failed: 100}) || r.ByPod["unknown"] != (load.Counts{OK: 100}) {
			t.Errorf("by pod: %+v", r.ByPod)
		}
		if len(r.Failures) != keptFailures {
			t.Fatalf("%d failures are told", len(r.Failures))
		}
		first, second := r.Failures[0], r.Failures[1]
		if !first.At.Equal(began.Add(20*time.Millisecond)) || first.Took != "1s" || first.Pod != "shop-2" || !strings.Contains(first.Error, "draining") {
			t.Errorf("first failure: %+v", first)
		}
		if second.Pod != "" || !strings.Contains(second.Error, refused.Error()) {
			t.Errorf("second failure: %+v", second)
		}
	})
}

// A request counts where it was sent, so that Sent is never less than the rest.
func TestAResetForgetsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, end := start(t, &service{takes: time.Minute, answer: sells}, 10)
		defer end()
		time.Sleep(time.Second + time.Millisecond)
		ask(t, g, "/rate?rps=0")
		ask(t, g, "/reset")
		time.Sleep(time.Hour)
		if r := reported(t, g); r.Sent != 0 || r.InFlight != 0 || r.Failed != 0 || len(r.ByPod) != 0 {
			t.Errorf("%+v", r)
		}
	})
}
