// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"slices"
	"time"
)

// Outcome is what became of a request.
type Outcome int

const (
	// OK was answered with 200.
	OK Outcome = iota
	// Shed was refused because the bulkhead was saturated.
	Shed
	// TimedOut was given up by the server, with 504.
	TimedOut
	// Failed is everything else: no connection, no answer, another status.
	Failed
)

// Counts are numbers of requests by what became of them.
type Counts struct {
	OK       int `json:"ok"`
	Shed     int `json:"shed"`
	TimedOut int `json:"timedOut"`
	Failed   int `json:"failed"`
}

// Answered is their sum.
func (c Counts) Answered() int { return c.OK + c.Shed + c.TimedOut + c.Failed }

// Plus adds two counts.
func (c Counts) Plus(d Counts) Counts {
	return Counts{c.OK + d.OK, c.Shed + d.Shed, c.TimedOut + d.TimedOut, c.Failed + d.Failed}
}

// Minus are the counts since d were.
func (c Counts) Minus(d Counts) Counts {
	return Counts{c.OK - d.OK, c.Shed - d.Shed, c.TimedOut - d.TimedOut, c.Failed - d.Failed}
}

// One is one request, with that outcome.
func One(o Outcome) Counts {
	switch o {
	case OK:
		return Counts{OK: 1}
	case Shed:
		return Counts{Shed: 1}
	case TimedOut:
		return Counts{TimedOut: 1}
	default:
		return Counts{Failed: 1}
	}
}

// Window is what happened between two moments.
type Window struct {
	Counts
	// Err is the last error of a failed request.
	Err error

	latencies []time.Duration // of those that were OK
}

// With adds an answer. Only the last of the windows that were made so may be added to.
func (w Window) With(a Answer) Window {
	w.Counts = w.Plus(One(a.Outcome))
	if a.Outcome == OK {
		w.latencies = append(w.latencies, a.Took)
	}
	if a.Err != nil {
		w.Err = a.Err
	}
	return w
}

// Quantile is how long the given part, from 0 to 1, of the requests that were OK
// took at most; 0 when there were none.
func (w Window) Quantile(q float64) time.Duration {
	if len(w.latencies) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(w.latencies))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}
