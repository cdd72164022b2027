// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"testing"
	"time"
)

// Waiting for as long as wait says, and taking, sends at the rate exactly, also at
// rates that divide no second.
func TestPace(t *testing.T) {
	begin := time.Unix(1000, 0)
	for _, rate := range []float64{0.1, 1, 3, 7, 500, 999, 33333} {
		p, now, taken := newPace(rate, begin), begin, 0
		for taken < 1000 {
			now = now.Add(p.wait(now))
			n := p.take(now)
			if n != 1 {
				t.Fatalf("rate %v: took %d when one was due, after %d", rate, n, taken)
			}
			taken++
		}
		if got, want := now.Sub(begin).Seconds(), 1000/rate; math.Abs(got-want) > 1e-6 {
			t.Errorf("rate %v: 1000 in %vs, want %vs", rate, got, want)
		}
	}
}

func TestWhoComesLateFindsWhatIsOwed(t *testing.T) {
	begin := time.Unix(1000, 0)
	p := newPace(500, begin)
	if n := p.take(begin.Add(time.Second)); n != 500 {
		t.Errorf("after a second: %d", n)
	}
	if n := p.take(begin.Add(time.Second / 2)); n != 0 {
		t.Errorf("a clock that goes back: %d", n)
	}
	if d := p.wait(begin.Add(2 * time.Second)); d != 0 {
		t.Errorf("waits %v though requests are owed", d)
	}
}

func TestNothingIsDueAtRateZero(t *testing.T) {
	begin := time.Unix(1000, 0)
	p := newPace(0, begin)
	if n, d := p.take(begin.Add(time.Hour)), p.wait(begin); n != 0 || d < 1000*time.Hour {
		t.Errorf("took %d, waits %v", n, d)
	}
}
