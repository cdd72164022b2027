// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// overview is what DebugHandler shows: as JSON as it stands here, and as a page with
// what the methods say about it.
type overview struct {
	// State is serving, draining or drained.
	State    string            `json:"state"`
	Source   sourceOverview    `json:"source"`
	Services []serviceOverview `json:"services"`
	Refresh  int               `json:"-"`
}

type sourceOverview struct {
	Directory string `json:"directory"`
	Revision  string `json:"revision,omitempty"`
	// Applied and the others are absent before the first document.
	Applied                *time.Time `json:"applied,omitempty"`
	AppliedAgeSeconds      *float64   `json:"appliedAgeSeconds,omitempty"`
	LastRead               *time.Time `json:"lastRead,omitempty"`
	LastGoodRead           *time.Time `json:"lastGoodRead,omitempty"`
	LastGoodReadAgeSeconds *float64   `json:"lastGoodReadAgeSeconds,omitempty"`
	Good                   bool       `json:"good"`
	Error                  string     `json:"error,omitempty"`
	Reloads                uint64     `json:"reloads"`
	Failures               uint64     `json:"failures"`
	UnknownFields          []string   `json:"unknownFields"`
	Updatable              bool       `json:"updatable"`
	Watched                bool       `json:"watched"`
}

type serviceOverview struct {
	Name string `json:"name"`
	// Listed says whether the document in force lists it.
	Listed bool   `json:"listed"`
	Mode   string `json:"mode"`
	Ended  string `json:"ended,omitempty"`

	// Limit is absent where nothing is limited.
	Limit        *int   `json:"limit,omitempty"`
	MaxWait      string `json:"maxWait,omitempty"`
	ReclaimAfter string `json:"reclaimAfter,omitempty"`
	OnReclaim    string `json:"onReclaim,omitempty"`

	InFlight  int `json:"inFlight"`
	Waiting   int `json:"waiting"`
	Overdue   int `json:"overdue"`
	Unlimited int `json:"unlimited"`

	Tasks  *tasksOverview `json:"tasks,omitempty"`
	Counts countsOverview `json:"counts"`
}

type tasksOverview struct {
	Active         int    `json:"active"`
	Queued         int    `json:"queued"`
	Capacity       int    `json:"capacity"`
	MaxConcurrency int    `json:"maxConcurrency,omitempty"`
	Done           uint64 `json:"done"`
	Failures       uint64 `json:"failures"`
}

// countsOverview is limiter.Counts without what concerns tasks.
type countsOverview struct {
	Admitted      uint64  `json:"admitted"`
	Saturated     uint64  `json:"saturated"`
	Refused       uint64  `json:"refused"`
	Draining      uint64  `json:"draining"`
	Closed        uint64  `json:"closed"`
	QueueFull     uint64  `json:"queueFull"`
	Cancelled     uint64  `json:"cancelled"`
	Shadowed      uint64  `json:"shadowed"`
	Waited        uint64  `json:"waited"`
	WaitSeconds   float64 `json:"waitSeconds"`
	Lapsed        uint64  `json:"lapsed"`
	LateReleases  uint64  `json:"lateReleases"`
	StaleReleases uint64  `json:"staleReleases"`
}

// overview describes the agent as it is now.
func (a *Agent) overview(now time.Time) overview {
	services := a.Services()
	o := overview{
		State:    a.drain.state(),
		Source:   newSourceOverview(a.source.dir, a.Source(), now),
		Services: make([]serviceOverview, len(services)),
	}
	for i, s := range services {
		o.Services[i] = newServiceOverview(s)
	}
	return o
}

// state is a word for how far the drain is.
func (d *drain) state() string {
	select {
	case <-d.done:
		return "drained"
	default:
	}
	if d.begun.Load() {
		return "draining"
	}
	return "serving"
}

func newSourceOverview(dir string, s SourceStatus, now time.Time) sourceOverview {
	o := sourceOverview{
		Directory: dir, Revision: s.Revision, Good: s.Err == nil && !s.LastRead.IsZero(),
		Reloads: s.Reloads, Failures: s.Failures, UnknownFields: append([]string{}, s.Unknown...),
		Updatable: s.Updatable, Watched: s.Watched,
	}
	o.Applied, o.AppliedAgeSeconds = moment(s.Applied, now)
	o.LastRead, _ = moment(s.LastRead, now)
	o.LastGoodRead, o.LastGoodReadAgeSeconds = moment(s.LastGoodRead, now)
	if s.Err != nil {
		o.Error = s.Err.Error()
	}
	return o
}

// moment is a time and how long ago it was; both are nil if it never was.
func moment(t, now time.Time) (at *time.Time, age *float64) {
	if t.IsZero() {
		return nil, nil
	}
	// The time may be that of a read which came while this overview was made.
	return new(t.Round(time.Millisecond).UTC()), new(max(0, now.Sub(t)).Round(time.Millisecond).Seconds())
}

func newServiceOverview(s Service) serviceOverview {
	o := serviceOverview{
		Name: s.Name, Listed: s.Listed, Mode: s.Mode.String(),
		InFlight: s.InFlight, Waiting: s.Waiting, Overdue: s.Overdue, Unlimited: s.Unlimited,
		Counts: newCountsOverview(s.Counts),
	}
	if s.Ended != nil {
		o.Ended = s.Ended.Error()
	}
	if s.Mode == limiter.Enforce || s.Mode == limiter.Shadow {
		o.Limit, o.MaxWait, o.ReclaimAfter, o.OnReclaim = &s.Limit, s.MaxWait.String(), s.ReclaimAfter.String(), onReclaim(s.OnReclaim)
	}
	if t := s.Tasks; t.Capacity+t.Active+t.Queued > 0 || s.Counts.TasksDone > 0 {
		o.Tasks = &tasksOverview{
			Active: t.Active, Queued: t.Queued, Capacity: t.Capacity, MaxConcurrency: t.MaxConcurrency,
			Done: s.Counts.TasksDone, Failures: s.Counts.TaskFailures,
		}
	}
	return o
}

func newCountsOverview(c limiter.Counts) countsOverview {
	return countsOverview{
		Admitted: c.Admitted, Saturated: c.Saturated, Refused: c.Refused, Draining: c.Draining, Closed: c.Closed,
		QueueFull: c.QueueFull, Cancelled: c.Cancelled, Shadowed: c.Shadowed, Waited: c.Waited, WaitSeconds: c.WaitTime.Seconds(),
		Lapsed: c.Lapsed, LateReleases: c.LateReleases, StaleReleases: c.StaleReleases,
	}
}

func onReclaim(o limiter.OnReclaim) string {
	if o == limiter.Release {
		return "Release"
	}
	return "Cancel"
}
