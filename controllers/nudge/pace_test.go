// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestPaceOnAFakeClock(t *testing.T) {
	p := paceOf(20)
	now := epoch
	slot := p.after(time.Time{}, now, 0.5)
	if got, want := slot.Sub(now), 50*time.Millisecond; got != want {
		t.Errorf("after idle time: %s, want %s", got, want)
	}
	if got, want := p.after(slot, slot, 0).Sub(slot), 37500*time.Microsecond; got != want {
		t.Errorf("the shortest gap is %s, want %s", got, want)
	}
	if got, want := p.after(slot, slot, 1).Sub(slot), 62500*time.Microsecond; got != want {
		t.Errorf("the longest gap is %s, want %s", got, want)
	}
	if got, want := p.after(slot, slot.Add(10*time.Millisecond), 0.5), slot.Add(50*time.Millisecond); !got.Equal(want) {
		t.Errorf("a nudge that is late puts the next off to %s, want %s", got, want)
	}
	if got, want := p.after(slot, slot.Add(time.Minute), 0.5), slot.Add(time.Minute+50*time.Millisecond); !got.Equal(want) {
		t.Errorf("idle time is made up for: %s, want %s", got, want)
	}
}

// TestPaceKeepsTheRate, with 20 pods out within 1.2 s of the write.
func TestPaceKeepsTheRate(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	p := paceOf(DefaultRate)
	var longest time.Duration
	for range 1000 {
		slot := epoch.Add(headStart)
		for range 20 - 1 {
			slot = p.after(slot, slot, random.Float64())
		}
		longest = max(longest, slot.Sub(epoch))
	}
	if longest > 1200*time.Millisecond || longest < time.Second {
		t.Errorf("of 1,000 times the longest until the 20th was out was %s", longest)
	}
	slot := epoch
	for range 10_000 {
		slot = p.after(slot, slot, random.Float64())
	}
	if rate := 10_000 / slot.Sub(epoch).Seconds(); math.Abs(rate-20) > 0.2 {
		t.Errorf("%.2f a second, want 20", rate)
	}
}

func TestPaceOfExtremes(t *testing.T) {
	for _, rate := range []float64{math.SmallestNonzeroFloat64, 1e-9, 1e9, math.MaxFloat64} {
		if got := paceOf(rate); got < 0 || time.Duration(got) > slowest {
			t.Errorf("%g a second: %s apart", rate, time.Duration(got))
		}
	}
}

// TestPaceOfWhatIsNoRate: it is no leave to nudge without one.
func TestPaceOfWhatIsNoRate(t *testing.T) {
	for _, rate := range []float64{0, -1, math.Inf(-1), math.NaN()} {
		if got, want := paceOf(rate), paceOf(DefaultRate); got != want {
			t.Errorf("%v a second: %s apart, want %s", rate, time.Duration(got), time.Duration(want))
		}
	}
}

func TestBackoff(t *testing.T) {
	want := []float64{1, 2, 4, 8, 16, 30, 30}
	for i, seconds := range want {
		if got := backoff(i + 1).Seconds(); got != seconds {
			t.Errorf("after %d failures: %v s, want %v s", i+1, got, seconds)
		}
	}
	if got := backoff(math.MaxInt); got != retryMost {
		t.Errorf("after many: %s", got)
	}
}
