// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import "time"

const (
	// DefaultRate is how many pods are nudged a second where Options say nothing.
	DefaultRate = 20

	// headStart is how long after a write the first pod is nudged, so that the kubelets
	// have heard of the ConfigMap before they hear of the pod: otherwise they would
	// mount the old one once more.
	headStart = 100 * time.Millisecond

	// gather is how long changes of pods are collected before the pods of a ConfigMap are
	// looked at again.
	gather = 100 * time.Millisecond

	// retryFirst and retryMost are the delays between tries of one pod, patience how long
	// after the write there are any: by then kubelets have followed of themselves.
	retryFirst = time.Second
	retryMost  = 30 * time.Second
	patience   = 5 * time.Minute
)

// pace is the time from one nudge to the next, on average.
type pace time.Duration

// slowest keeps a tiny rate from being no time at all.
const slowest = time.Hour

func paceOf(rate float64) pace {
	if !(rate > 0) { // so that NaN is caught, too
		rate = DefaultRate
	}
	return pace(min(float64(slowest), float64(time.Second)/rate))
}

// after says when the next nudge may go, when one whose time had come at slot goes
// now. Chance, from 0 to 1, makes the gap up to a quarter shorter or longer, so that
// nudges fall into step with nothing. A nudge that goes a little late does not put
// the others off; but idle time is not made up for.
func (p pace) after(slot, now time.Time, chance float64) time.Time {
	if now.Sub(slot) > time.Duration(p) {
		slot = now
	}
	return slot.Add(time.Duration(float64(p) * (0.75 + chance/2)))
}

// backoff is how long a pod is left alone after so many failures in a row.
func backoff(failures int) time.Duration {
	return min(retryMost, retryFirst<<min(failures-1, 10))
}
