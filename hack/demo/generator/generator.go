// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/load"
)

// maxRate is what one generator may be asked for: a typing error should not take
// the machine.
const maxRate = 100_000

// generator sends requests.
type generator struct {
	client      *http.Client
	method, url string

	rates   chan float64 // for run, which alone knows the present one
	running sync.WaitGroup
	tally   atomic.Pointer[tally] // of the requests sent since the last reset
	first   float64
}

func newGenerator(client *http.Client, method, url string, rate float64) *generator {
	g := &generator{client: client, method: method, url: url, first: rate, rates: make(chan float64)}
	g.tally.Store(&tally{})
	return g
}

// run sends until ctx ends, and returns when every request has its answer.
func (g *generator) run(ctx context.Context) {
	defer g.client.CloseIdleConnections()
	defer g.running.Wait()
	p := newPace(g.first, time.Now())
	next := time.NewTimer(p.wait(time.Now()))
	defer next.Stop()
	for {
		select {
		case <-next.C:
			for range p.take(time.Now()) {
				g.send()
			}
		case rate := <-g.rates:
			p = newPace(rate, time.Now())
		case <-ctx.Done():
			return
		}
		next.Reset(p.wait(time.Now()))
	}
}

// send sends one request, and does not wait for its answer. That is counted with
// the request, also when there was a reset in between.
func (g *generator) send() {
	t := g.tally.Load()
	t.begin()
	g.running.Go(func() { t.note(load.Ask(g.client, g.method, g.url)) })
}

func (g *generator) report() report { return g.tally.Load().report() }

func (g *generator) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/report", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(g.report())
	})
	mux.HandleFunc("/rate", g.setRate)
	mux.HandleFunc("/reset", func(w http.ResponseWriter, _ *http.Request) {
		g.tally.Store(&tally{})
		_, _ = fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	return mux
}

// setRate answers when the rate is in force.
func (g *generator) setRate(w http.ResponseWriter, r *http.Request) {
	rate, err := strconv.ParseFloat(r.FormValue("rps"), 64)
	if err == nil {
		err = checkRate(rate)
	}
	if err != nil {
		http.Error(w, "rps: "+err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case g.rates <- rate:
		_, _ = fmt.Fprintln(w, "rate:", rate)
	case <-r.Context().Done():
	}
}

func checkRate(rate float64) error {
	if rate >= 0 && rate <= maxRate { // NaN is neither
		return nil
	}
	return fmt.Errorf("rate: must be from 0 to %d a second, is %v", maxRate, rate)
}
