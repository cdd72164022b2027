// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
)

// service answers slowly and counts.
type service struct {
	mu       sync.Mutex
	latency  time.Duration
	hangs    bool
	inFlight int
	peak     int
	served   int
}

func (s *service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/charge", s.charge)
	mux.HandleFunc("/latency", s.setLatency)
	mux.HandleFunc("/stats", s.stats)
	mux.HandleFunc("/reset", s.reset)
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	return mux
}

// charge takes as long as a call takes now, unless the caller hangs up. The call
// counts until its answer is about to be sent: a caller that has its answer is
// never counted with the next.
func (s *service) charge(w http.ResponseWriter, r *http.Request) {
	latency := s.begin()
	select {
	case <-latency:
		s.end(1)
		_, _ = fmt.Fprintln(w, "charged")
	case <-r.Context().Done():
		s.end(0)
	}
}

// begin returns a channel that receives when the call is over: after half the
// latency to one and a half; nil, and so never, while the service hangs.
func (s *service) begin() <-chan time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight++
	s.peak = max(s.peak, s.inFlight)
	if s.hangs {
		return nil
	}
	return time.After(s.latency/2 + rand.N(s.latency+1))
}

func (s *service) end(served int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
	s.served += served
}

// setLatency changes what calls take from now on; those under way keep what they
// began with. Any method will do, so that a browser's address line can set it.
func (s *service) setLatency(w http.ResponseWriter, r *http.Request) {
	text := r.FormValue("d")
	latency, err := time.ParseDuration(text)
	hangs := text == "hang"
	if !hangs && (err != nil || latency < 0) {
		http.Error(w, `d: must be a duration such as 80ms, or "hang"`, http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.latency, s.hangs = latency, hangs
	s.mu.Unlock()
	_, _ = fmt.Fprintln(w, "latency:", text)
}

func (s *service) stats(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	latency := s.latency.String()
	if s.hangs {
		latency = "hangs"
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(words.Payments{InFlight: s.inFlight, Peak: s.peak, Served: s.served, Latency: latency})
}

func (s *service) reset(http.ResponseWriter, *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peak = s.inFlight
}
