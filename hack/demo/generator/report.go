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
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/load"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
)

// maxMessage is how long a container's termination message may be. Of a longer one
// Kubernetes keeps the end, which would be no JSON.
const maxMessage = 4096

// report is what became of the requests.
type report words.Load

// report tells what became of the requests so far.
func (t *tally) report() report {
	t.mu.Lock()
	sent, answered, window := t.sent, t.answered, t.window
	byPod, failures := map[string]load.Counts{}, append([]words.Failure{}, t.failures...)
	maps.Copy(byPod, t.byPod)
	t.mu.Unlock() // sorting the latencies, which are only ever added to, may take a while

	return report{
		Sent: sent, InFlight: sent - window.Answered(), Answered: answered, Counts: window.Counts,
		P50: milliseconds(window.Quantile(0.5)), P95: milliseconds(window.Quantile(0.95)), P99: milliseconds(window.Quantile(0.99)),
		ByPod: byPod, Failures: failures,
	}
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
			r.ByPod = map[string]load.Counts{}
		default:
			return nil, fmt.Errorf("report: %d bytes, more than %d", len(text), limit)
		}
	}
}
