// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
)

// report is what the shop says of itself in the end. As the termination message of
// a container it may be 4096 bytes long.
type report struct {
	Drain    drainReport              `json:"drain"`
	Services map[string]serviceReport `json:"services"`
}

// drainReport is agent.Report in numbers.
type drainReport struct {
	LameDuckSeconds     float64 `json:"lameDuckSeconds"`
	ProducersSeconds    float64 `json:"producersSeconds"`
	RunningSeconds      float64 `json:"runningSeconds"`
	DependenciesSeconds float64 `json:"dependenciesSeconds"`
	TotalSeconds        float64 `json:"totalSeconds"`
	LetGo               int     `json:"letGo"`
	Finished            int     `json:"finished"`
	Remaining           int     `json:"remaining"`
	Closed              int     `json:"closed"`
}

// serviceReport is what one bulkhead counted from its first call to its last, and
// what the drain did to it.
type serviceReport struct {
	Admitted     uint64 `json:"admitted"`
	Saturated    uint64 `json:"saturated"`
	Draining     uint64 `json:"draining"`
	Cancelled    uint64 `json:"cancelled"`
	Waited       uint64 `json:"waited"`
	Lapsed       uint64 `json:"lapsed"`
	LateReleases uint64 `json:"lateReleases"`
	LetGo        int    `json:"letGo"`
	Finished     int    `json:"finished"`
	Remaining    int    `json:"remaining"`
}

func newReport(d agent.Report, services []agent.Service) report {
	r := report{
		Drain: drainReport{
			LameDuckSeconds: d.LameDuck.Seconds(), ProducersSeconds: d.Producers.Seconds(),
			RunningSeconds: d.Running.Seconds(), DependenciesSeconds: d.Dependencies.Seconds(),
			TotalSeconds: d.Total().Seconds(),
			LetGo:        d.LetGo(), Finished: d.Finished(), Remaining: d.Remaining(), Closed: d.Closed,
		},
		Services: make(map[string]serviceReport, len(services)),
	}
	drained := make(map[string]agent.ServiceReport, len(d.Services))
	for _, s := range d.Services {
		drained[s.Service] = s
	}
	for _, s := range services {
		one := drained[s.Name]
		r.Services[s.Name] = serviceReport{
			Admitted: s.Counts.Admitted, Saturated: s.Counts.Saturated, Draining: s.Counts.Draining,
			Cancelled: s.Counts.Cancelled, Waited: s.Counts.Waited,
			Lapsed: s.Counts.Lapsed, LateReleases: s.Counts.LateReleases,
			LetGo: one.LetGo, Finished: one.Finished, Remaining: len(one.Remaining),
		}
	}
	return r
}

// writeTo writes the report into a file, which may exist.
func (r report) writeTo(path string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
