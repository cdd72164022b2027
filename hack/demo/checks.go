// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

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

// checks are all that was looked at, in order.
type checks []check

func (c checks) failed() (n int) {
	for _, one := range c {
		if !one.ok {
			n++
		}
	}
	return n
}

// expect notes a check and shows its result at once. That it failed does not end
// the demo: what comes after may tell more.
func (s *stage) expect(ok bool, what, expected string, seen any) {
	c := check{ok: ok, what: what, expected: expected, seen: fmt.Sprint(seen)}
	s.checks = append(s.checks, c)
	s.out.check(c)
}

func (s *stage) expectAtMost(what string, seen, most int) {
	s.expect(seen <= most, what, fmt.Sprintf("at most %d", most), seen)
}

func (s *stage) expectAtLeast(what string, seen, least int) {
	s.expect(seen >= least, what, fmt.Sprintf("at least %d", least), seen)
}

func (s *stage) expectEqual(what string, seen, wanted any) {
	s.expect(seen == wanted, what, fmt.Sprint(wanted), seen)
}

// summarize shows every check once more.
func (s *stage) summarize(took time.Duration) {
	s.out.heading("Summary")
	s.out.line(table(s.out, s.checks))
	passed := len(s.checks) - s.checks.failed()
	colour := green
	if passed < len(s.checks) {
		colour = red
	}
	s.out.line(s.out.style(colour, fmt.Sprintf("%d of %d checks passed, %s.", passed, len(s.checks), took.Round(time.Second))))
}

// table lays the checks out in columns.
func table(out *printer, all checks) string {
	whatWidth, expectedWidth := len("check"), len("expected")
	for _, c := range all {
		whatWidth = max(whatWidth, len([]rune(c.what)))
		expectedWidth = max(expectedWidth, len([]rune(c.expected)))
	}
	heading := fmt.Sprintf("    %-*s  %-*s  %s", whatWidth, "check", expectedWidth, "expected", "seen")
	lines := []string{out.style(bold, heading)}
	for _, c := range all {
		mark := out.style(green, "✓")
		if !c.ok {
			mark = out.style(red, "✗")
		}
		lines = append(lines, fmt.Sprintf("  %s %-*s  %-*s  %s", mark, whatWidth, c.what, expectedWidth, c.expected, c.seen))
	}
	return strings.Join(lines, "\n") + "\n"
}
