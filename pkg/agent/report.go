// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// Report is what a drain did.
type Report struct {
	// LameDuck, Producers, Running and Dependencies are how long each step took.
	LameDuck, Producers, Running, Dependencies time.Duration
	// Services has an entry for every service that had calls since producers were
	// told to stop, sorted by name.
	Services []ServiceReport
	// Closed is how many dependencies were told to close.
	Closed int
}

// ServiceReport is what a drain did to one service.
type ServiceReport struct {
	Service string
	// LetGo is how many waiting calls and queued tasks were refused when admission
	// stopped; Finished is how many calls ended, in time, since producers were told
	// to stop.
	LetGo, Finished int
	// Remaining are the calls that still ran, oldest first.
	Remaining []limiter.Running
}

// serviceReports says what became of each bulkhead.
func serviceReports(bulkheads []*draining) []ServiceReport {
	var reports []ServiceReport
	for _, b := range bulkheads {
		if finished := b.finished(); b.letGo+finished+len(b.stillRunning) > 0 {
			reports = append(reports, ServiceReport{
				Service: b.bulkhead.Name(), LetGo: b.letGo,
				Finished: finished, Remaining: b.stillRunning,
			})
		}
	}
	slices.SortFunc(reports, func(x, y ServiceReport) int { return cmp.Compare(x.Service, y.Service) })
	return reports
}

// Total is how long the drain took.
func (r Report) Total() time.Duration { return r.LameDuck + r.Producers + r.Running + r.Dependencies }

// LetGo is how many waiting calls and queued tasks were refused, over all services.
func (r Report) LetGo() int { return r.sum(func(s ServiceReport) int { return s.LetGo }) }

// Finished is how many calls ended in time, over all services.
func (r Report) Finished() int { return r.sum(func(s ServiceReport) int { return s.Finished }) }

// Remaining is how many calls still ran at the end, over all services.
func (r Report) Remaining() int { return r.sum(func(s ServiceReport) int { return len(s.Remaining) }) }

func (r Report) sum(of func(ServiceReport) int) (n int) {
	for _, s := range r.Services {
		n += of(s)
	}
	return n
}

// String is the report as a few lines for people.
func (r Report) String() string {
	var out strings.Builder
	step := func(name string, took time.Duration, format string, args ...any) {
		fmt.Fprintf(&out, "  %-13s %9s  %s\n", name, round(took), fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&out, "drained in %s\n", round(r.Total()))
	step("lame duck", r.LameDuck, "not ready, still serving")
	step("producers", r.Producers, "stopped; new calls refused, %d waiting calls let go", r.LetGo())
	step("running", r.Running, "%d calls finished, %d remain", r.Finished(), r.Remaining())
	for _, s := range r.Services {
		for _, call := range s.Remaining {
			fmt.Fprintf(&out, "  %-13s %9s  %s: %s\n", "", "", s.Service, describe(call))
		}
	}
	step("dependencies", r.Dependencies, "%d closed", r.Closed)
	return out.String()
}

func describe(call limiter.Running) string {
	text := "running for " + round(call.Age).String()
	if call.Lapsed {
		text += ", its slot was reclaimed"
	}
	return text
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}
