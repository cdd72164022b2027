// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package story

import "strings"

// barScale is how many calls one cell of the bar stands for, barWidth how many
// cells there are.
const (
	barScale = 2
	barWidth = 24
)

// BarLegend explains Bar, and is as wide.
const BarLegend = "█ in flight ░ free • in line"

// Bar draws the slots of a bulkhead, held ones filled, and the calls that wait
// beyond them.
func (t *Teller) Bar(limit, inFlight, waiting int) string {
	cells := func(calls int) int { return (calls + barScale - 1) / barScale }
	held := cells(inFlight)
	free := max(0, cells(limit)-held)
	queue := min(cells(waiting), max(0, barWidth-held-free-1))
	blank := max(0, barWidth-held-free-1-queue)
	return t.Style(Green, strings.Repeat("█", held)) + t.Style(Faint, strings.Repeat("░", free)) + "│" +
		t.Style(Yellow, strings.Repeat("•", queue)) + strings.Repeat(" ", blank)
}
