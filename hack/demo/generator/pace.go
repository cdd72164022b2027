// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"time"
)

// pace says when requests are due: evenly, counted from when the pace began, so
// that who comes late finds all that is owed.
type pace struct {
	rate  float64 // in a second
	began time.Time
	taken int
}

func newPace(rate float64, now time.Time) *pace { return &pace{rate: rate, began: now} }

// take returns how many are due and have not been taken yet.
func (p *pace) take(now time.Time) int {
	// What wait rounds up to must count as due.
	due := int(now.Sub(p.began).Seconds()*p.rate + 1e-6)
	n := max(0, due-p.taken)
	p.taken += n
	return n
}

// wait is how long it takes until the next is due: never, at a rate of 0.
func (p *pace) wait(now time.Time) time.Duration {
	seconds := float64(p.taken+1) / p.rate
	if seconds > math.MaxInt32 { // also +Inf
		return math.MaxInt64
	}
	return max(0, p.began.Add(time.Duration(math.Ceil(seconds*1e9))).Sub(now))
}
