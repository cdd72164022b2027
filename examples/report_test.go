// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"regexp"
	"strconv"
	"testing"
	"time"
)

// report is the drain report that a program has printed.
type report struct {
	total, lameDuck, producers, running, dependencies time.Duration
	letGo, finished, remaining, closed                int
	// ages has the age of the oldest call that remained, by service.
	ages map[string]time.Duration
}

var (
	reportText = regexp.MustCompile(`^drained in (\S+)
 +lame duck +(\S+) +not ready, still serving
 +producers +(\S+) +stopped; new calls refused, (\d+) waiting calls let go
 +running +(\S+) +(\d+) calls finished, (\d+) remain
((?: +\S+: running for \S+\n)*) +dependencies +(\S+) +(\d+) closed
$`)
	remainingText = regexp.MustCompile(`(?m)^ +(\S+): running for (\S+)$`)
)

// report reads what the program has printed at its end.
func (p *program) report(t *testing.T) (r report) {
	t.Helper()
	found := reportText.FindStringSubmatch(p.stdout)
	if found == nil {
		t.Fatalf("no report: %q", p.stdout)
	}
	for i, to := range map[int]*time.Duration{1: &r.total, 2: &r.lameDuck, 3: &r.producers, 5: &r.running, 9: &r.dependencies} {
		*to = duration(t, found[i])
	}
	for i, to := range map[int]*int{4: &r.letGo, 6: &r.finished, 7: &r.remaining, 10: &r.closed} {
		n, err := strconv.Atoi(found[i])
		must(t, err)
		*to = n
	}
	r.ages = map[string]time.Duration{}
	for _, line := range remainingText.FindAllStringSubmatch(found[8], -1) {
		r.ages[line[1]] = max(r.ages[line[1]], duration(t, line[2]))
	}
	return r
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	must(t, err)
	return d
}

// checkTimes compares the steps with the whole, and the whole with the time that
// the program took since SIGTERM. Each figure is rounded, to a millisecond at most.
func (r report) checkTimes(t *testing.T, took time.Duration) {
	t.Helper()
	sum := r.lameDuck + r.producers + r.running + r.dependencies
	if off := (sum - r.total).Abs(); off > 3*time.Millisecond {
		t.Errorf("the steps took %v, together they are said to have taken %v", sum, r.total)
	}
	if r.total > took+time.Millisecond {
		t.Errorf("the drain took %v of the %v that the program had", r.total, took)
	}
}
