// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package story

import (
	"fmt"
	"strings"
	"time"
)

// check is one thing that was looked at.
type check struct {
	ok                   bool
	what, expected, seen string
}

// Failed is how many checks have failed so far.
func (t *Teller) Failed() (n int) {
	for _, one := range t.checks {
		if !one.ok {
			n++
		}
	}
	return n
}

// Expect notes a check and shows its result at once. That it failed does not end
// the demo: what comes after may tell more.
func (t *Teller) Expect(ok bool, what, expected string, seen any) {
	c := check{ok: ok, what: what, expected: expected, seen: fmt.Sprint(seen)}
	t.checks = append(t.checks, c)
	t.showCheck(c)
}

// ExpectAtMost is Expect for a number that must not be greater.
func (t *Teller) ExpectAtMost(what string, seen, most int) {
	t.Expect(seen <= most, what, fmt.Sprintf("at most %d", most), seen)
}

// ExpectAtLeast is Expect for a number that must not be smaller.
func (t *Teller) ExpectAtLeast(what string, seen, least int) {
	t.Expect(seen >= least, what, fmt.Sprintf("at least %d", least), seen)
}

// ExpectEqual is Expect for what must be equal.
func (t *Teller) ExpectEqual(what string, seen, wanted any) {
	t.Expect(seen == wanted, what, fmt.Sprint(wanted), seen)
}

// summarize shows every check once more.
func (t *Teller) summarize(took time.Duration) {
	t.heading("Summary")
	t.Line(t.table())
	passed := len(t.checks) - t.Failed()
	colour := Green
	if passed < len(t.checks) {
		colour = Red
	}
	t.Line(t.Style(colour, fmt.Sprintf("%d of %d checks passed, %s.", passed, len(t.checks), took.Round(time.Second))))
}

// table lays the checks out in columns.
func (t *Teller) table() string {
	whatWidth, expectedWidth := len("check"), len("expected")
	for _, c := range t.checks {
		whatWidth = max(whatWidth, len([]rune(c.what)))
		expectedWidth = max(expectedWidth, len([]rune(c.expected)))
	}
	heading := fmt.Sprintf("    %-*s  %-*s  %s", whatWidth, "check", expectedWidth, "expected", "seen")
	lines := []string{t.Style(Bold, heading)}
	for _, c := range t.checks {
		mark := t.Style(Green, "✓")
		if !c.ok {
			mark = t.Style(Red, "✗")
		}
		lines = append(lines, fmt.Sprintf("  %s %-*s  %-*s  %s", mark, whatWidth, c.what, expectedWidth, c.expected, c.seen))
	}
	return strings.Join(lines, "\n") + "\n"
}
