// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// report is what the shop says of itself in the end.
type report words.Shop

func newReport(d agent.Report, services []agent.Service) report {
	drained := make(map[string]agent.ServiceReport, len(d.Services))
	for _, s := range d.Services {
		drained[s.Service] = s
	}
	all := make(map[string]words.Service, len(services))
	for _, s := range services {
		all[s.Name] = serviceReport(s.Counts, drained[s.Name])
	}
	return report{Drain: drainReport(d), Services: all}
}

func drainReport(d agent.Report) words.Drain {
	return words.Drain{
		LameDuckSeconds: d.LameDuck.Seconds(), ProducersSeconds: d.Producers.Seconds(),
		RunningSeconds: d.Running.Seconds(), DependenciesSeconds: d.Dependencies.Seconds(),
		TotalSeconds: d.Total().Seconds(),
		LetGo:        d.LetGo(), Finished: d.Finished(), Remaining: d.Remaining(), Closed: d.Closed,
	}
}

func serviceReport(c limiter.Counts, d agent.ServiceReport) words.Service {
	return words.Service{
		Counts: words.Counts{
			Admitted: c.Admitted, Saturated: c.Saturated, Draining: c.Draining, Cancelled: c.Cancelled,
			Waited: c.Waited, Lapsed: c.Lapsed, LateReleases: c.LateReleases,
		},
		LetGo: d.LetGo, Finished: d.Finished, Remaining: len(d.Remaining),
	}
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
