// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"
)

// maxMessage is how long a container's termination message may be. Of a longer one
// Kubernetes keeps the end, which would be no JSON.
const maxMessage = 4096

// report is what became of the requests.
type report struct {
	// Sent is the sum of InFlight, OK, Shed, TimedOut and Failed. Answered are those
	// that got an answer of HTTP, whatever it said: the sum over ByPod.
	Sent     int `json:"sent"`
	InFlight int `json:"inFlight"`
	Answered int `json:"answered"`
	counts
	// P50, P95 and P99 are how many milliseconds that part of the requests that were
	// OK took at most.
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	// ByPod are the answers by the pod that they are from, Failures the first that
	// failed.
	ByPod    map[string]counts `json:"byPod"`
	Failures []failure         `json:"failures"`
}

// counts is load.Counts as JSON.
type counts struct {
	OK       int `json:"ok"`
	Shed     int `json:"shed"`
	TimedOut int `json:"timedOut"`
	Failed   int `json:"failed"`
}

// report tells what became of the requests so far.
func (t *tally) report() report {
	t.mu.Lock()
	sent, answered, window := t.sent, t.answered, t.window
	byPod, failures := maps.Clone(t.byPod), slices.Clone(t.failures)
	t.mu.Unlock() // sorting the latencies, which are only ever added to, may take a while

	r := report{
		Sent: sent, InFlight: sent - window.Answered(), Answered: answered, counts: counts(window.Counts),
		P50: milliseconds(window.Quantile(0.5)), P95: milliseconds(window.Quantile(0.95)), P99: milliseconds(window.Quantile(0.99)),
		ByPod: make(map[string]counts, len(byPod)), Failures: append([]failure{}, failures...),
	}
	for pod, c := range byPod {
		r.ByPod[pod] = counts(c)
	}
	return r
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
}

// tell prints the report, and writes what fits into a termination message into the
// file, if there is one.
func (r report) tell(out io.Writer, file string) error {
	err := json.NewEncoder(out).Encode(r)
	if file == "" {
		return err
	}
	text, fitErr := r.fit(maxMessage)
	if fitErr != nil {
		return errors.Join(err, fitErr)
	}
	if writeErr := os.WriteFile(file, text, 0o644); writeErr != nil {
		err = errors.Join(err, fmt.Errorf("write report: %w", writeErr))
	}
	return err
}

// fit is the report as JSON in at most that many bytes: with as many failures as
// there is room for, and without the pods if it must be.
func (r report) fit(limit int) ([]byte, error) {
	for {
		text, err := json.Marshal(r)
		if err != nil || len(text) <= limit {
			return text, err
		}
		switch {
		case len(r.Failures) > 0:
			r.Failures = r.Failures[:len(r.Failures)-1]
		case len(r.ByPod) > 0:
			r.ByPod = map[string]counts{}
		default:
			return nil, fmt.Errorf("report: %d bytes, more than %d", len(text), limit)
		}
	}
}
