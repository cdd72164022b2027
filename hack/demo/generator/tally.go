// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"sync"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/load"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
)

// keptFailures is how many failures are told one by one.
const keptFailures = 100

// noPod is what answers without a name are counted under.
const noPod = "unknown"

// tally counts requests.
type tally struct {
	mu       sync.Mutex
	sent     int
	answered int
	window   load.Window
	byPod    map[string]load.Counts
	failures []words.Failure
}

func (t *tally) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent++
}

func (t *tally) note(a load.Answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.window = t.window.With(a)
	if a.Status != 0 {
		t.answered++
		t.noteOf(a)
	}
	if a.Err != nil && len(t.failures) < keptFailures {
		took := a.Took.Round(10 * time.Microsecond).String()
		t.failures = append(t.failures, words.Failure{At: a.Sent.UTC(), Error: a.Err.Error(), Took: took, Pod: a.Pod})
	}
}

// noteOf counts an answer with its pod.
func (t *tally) noteOf(a load.Answer) {
	if t.byPod == nil {
		t.byPod = map[string]load.Counts{}
	}
	pod := a.Pod
	if pod == "" {
		pod = noPod
	}
	t.byPod[pod] = t.byPod[pod].Plus(load.One(a.Outcome))
}
