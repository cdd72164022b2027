// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package words

import (
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/load"
)

// Load is what the load generator says became of its requests.
type Load struct {
	// Sent is the sum of InFlight, OK, Shed, TimedOut and Failed. Answered are those
	// that got an answer of HTTP, whatever it said: the sum over ByPod.
	Sent     int `json:"sent"`
	InFlight int `json:"inFlight"`
	Answered int `json:"answered"`
	load.Counts
	// P50, P95 and P99 are how many milliseconds that part of the requests that were
	// OK took at most.
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	// ByPod are the answers by the pod that they are from, Failures the first that
	// failed.
	ByPod    map[string]load.Counts `json:"byPod"`
	Failures []Failure              `json:"failures"`
}

// Failure is a request that failed.
type Failure struct {
	// At is when it was sent.
	At    time.Time `json:"at"`
	Error string    `json:"error"`
	// Took is a duration as Go writes it; Pod is empty where there was no answer.
	Took string `json:"took"`
	Pod  string `json:"pod,omitempty"`
}

// Payments is what the slow service saw: the calls that it has now, the most that it
// had at once, and those that it served.
type Payments struct {
	InFlight int `json:"inFlight"`
	Peak     int `json:"peak"`
	Served   int `json:"served"`
	// Latency is how long a call takes on average, as Go writes a duration, or
	// "hangs".
	Latency string `json:"latency"`
}
