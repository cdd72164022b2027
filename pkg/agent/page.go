// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"strings"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// This file is what the page says about an overview, in words and in lengths.

// remark is a sentence on the page; level is a class of its style sheet.
type remark struct {
	Level string
	Text  string
}

const (
	levelFine = "fine" // as it should be
	levelNote = "note" // worth knowing
	levelWarn = "warn" // look into it
	levelBad  = "bad"  // act
)

type remarks []remark

func (r *remarks) add(when bool, level, format string, args ...any) {
	if when {
		*r = append(*r, remark{level, fmt.Sprintf(format, args...)})
	}
}

// StateLevel is how the word for the state looks.
func (o overview) StateLevel() string {
	if o.State == "serving" {
		return levelFine
	}
	return levelWarn
}

// Remarks are what there is to say about the source.
func (s sourceOverview) Remarks() remarks {
	var r remarks
	r.add(s.Revision == "", levelWarn, "No document has arrived yet: services get what the application's policy for unlisted ones says.")
	r.add(s.Error != "" && s.Revision != "", levelBad, "The last read found no good document, so what is in force stays in force: %s", s.Error)
	r.add(s.Error != "" && s.Revision == "", levelNote, "The last read: %s", s.Error)
	r.add(s.Revision != "" && !s.Updatable, levelBad,
		"The directory has no ..data link, so this document is never updated: mount the whole ConfigMap, not by subPath.")
	r.add(!s.Watched, levelWarn, "The directory cannot be watched: changes are found by polling.")
	r.add(len(s.UnknownFields) > 0, levelWarn, "This version ignores fields of the document: %s.", strings.Join(s.UnknownFields, ", "))
	return r
}

// Summary says which document is in force.
func (s sourceOverview) Summary() string {
	if s.Revision == "" {
		return "none"
	}
	return fmt.Sprintf("%s, applied %s ago, last read well %s ago", s.Revision, ago(*s.AppliedAgeSeconds), ago(*s.LastGoodReadAgeSeconds))
}

// ago is a number of seconds as people say it.
func ago(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Second:
		return "under 1 s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	default:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
}

// Percent is how long the bar is.
func (s serviceOverview) Percent() int {
	switch {
	case s.Limit == nil:
		return 0
	case *s.Limit == 0:
		return 100
	default:
		return min(100, 100*s.InFlight/(*s.Limit))
	}
}

// Level is how the bar looks.
func (s serviceOverview) Level() string {
	switch {
	case s.Limit == nil:
		return levelNote
	case s.Percent() == 100:
		return levelBad
	case s.Percent() >= 80:
		return levelWarn
	default:
		return levelFine
	}
}

// Fill is the bar in words.
func (s serviceOverview) Fill() string {
	if s.Limit == nil {
		return fmt.Sprintf("%d, no limit", s.Unlimited)
	}
	text := fmt.Sprintf("%d of %d", s.InFlight, *s.Limit)
	if s.Unlimited > 0 {
		text += fmt.Sprintf(" + %d above", s.Unlimited)
	}
	return text
}

// Shed is how many calls were turned away.
func (c countsOverview) Shed() uint64 {
	return c.Saturated + c.Refused + c.Draining + c.Closed + c.QueueFull
}

// Reasons are why, most telling first.
func (c countsOverview) Reasons() []string {
	var reasons []string
	for _, r := range []struct {
		n    uint64
		text string
	}{
		{c.Saturated, "saturated"}, {c.QueueFull, "queue full"}, {c.Refused, "refused"}, {c.Draining, "draining"}, {c.Closed, "closed"},
	} {
		if r.n > 0 {
			reasons = append(reasons, fmt.Sprintf("%d %s", r.n, r.text))
		}
	}
	return reasons
}

// Remarks are what the numbers mean.
func (s serviceOverview) Remarks() remarks {
	r, c := s.modeRemarks(), s.Counts
	budget, window := s.MaxWait, s.ReclaimAfter
	if s.Limit == nil { // it had some earlier
		budget, window = "at that time", "that time"
	}
	r.add(c.Saturated > 0, levelWarn, "Shed because every slot was held (wait budget %s): %s.", budget, calls(c.Saturated))
	r.add(c.Waited > 0, levelNote, "Waited for a slot: %s, for %v on average.", calls(c.Waited), meanWait(c))
	r.add(c.Cancelled > 0, levelNote, "Went away before they were admitted: %s.", calls(c.Cancelled))
	r.add(c.Lapsed > 0, levelWarn, "Lapsed: %s held a slot for the whole window of %s, and it was taken back. The service hangs, or the window is shorter than a legitimate call.", calls(c.Lapsed), window)
	r.add(c.LateReleases > 0, levelNote, "Late releases: %s ended after the slot had lapsed.", calls(c.LateReleases))
	r.add(s.Overdue > 0, levelBad, "Overdue: %s running on without a slot, because it lapsed; %s.", calls(uint64(s.Overdue)), s.why())
	r.add(c.StaleReleases > 0, levelWarn, "Stale releases, of permits that had been released or reset before: %d.", c.StaleReleases)
	if t := s.Tasks; t != nil {
		r.add(t.Failures > 0, levelWarn, "Tasks that failed, whether somebody noticed or not: %d of %d.", t.Failures, t.Done)
	}
	return r
}

func (s serviceOverview) modeRemarks() remarks {
	var r remarks
	r.add(s.Ended != "", levelWarn, "New calls are refused: %s.", s.Ended)
	r.add(s.Mode == limiter.Shadow.String(), levelNote,
		"Shadow: every call is admitted. Enforced, this limit would have made wait or shed: %s.", calls(s.Counts.Shadowed))
	r.add(s.Mode == limiter.PassThrough.String(), levelNote, "No ServiceBulkhead lists it: calls go through without a limit.")
	r.add(s.Mode == limiter.Refuse.String(), levelBad, "No ServiceBulkhead lists it, and the application refuses such calls.")
	r.add(!s.Listed && s.Limit != nil, levelNote, "No ServiceBulkhead lists it: these are the application's defaults.")
	r.add(s.Limit != nil && *s.Limit == 0, levelBad, "Limit 0: the kill switch, nothing is admitted.")
	r.add(s.Limit != nil && *s.Limit > 0 && s.InFlight > *s.Limit, levelWarn, "The limit was lowered; nobody new is admitted until enough calls have ended.")
	return r
}

func (s serviceOverview) why() string {
	if s.OnReclaim == "Release" {
		return "onReclaim is Release, which allows that"
	}
	return "its context has ended, and it does not heed that"
}

func meanWait(c countsOverview) time.Duration {
	mean := time.Duration(c.WaitSeconds / float64(c.Waited) * float64(time.Second))
	return mean.Round(max(time.Microsecond, mean/1000))
}

func calls(n uint64) string {
	if n == 1 {
		return "1 call"
	}
	return fmt.Sprintf("%d calls", n)
}
