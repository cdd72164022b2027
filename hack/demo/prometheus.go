// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// bulkhead is a service's bulkhead as the application's /metrics tell it.
type bulkhead struct {
	limit, inFlight, waiting    int
	admitted, shed              int // answers so far
	refused, cancelled          int // other answers: while draining or closed, or the caller left
	waits, lapses, lateReleases int
}

// asked is how many calls got an answer.
func (b bulkhead) asked() int { return b.admitted + b.shed + b.refused + b.cancelled }

// parseBulkhead finds a service's series in Prometheus' text format.
func parseBulkhead(text io.Reader, service string) (bulkhead, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return bulkhead{}, fmt.Errorf("metrics: %w", err)
	}
	series := map[string]int{}
	for name, family := range families {
		for _, metric := range family.GetMetric() {
			if label(metric, "service") == service {
				series[name+label(metric, "result")] = int(metric.GetGauge().GetValue() + metric.GetCounter().GetValue())
			}
		}
	}
	if len(series) == 0 {
		return bulkhead{}, fmt.Errorf("metrics: nothing about the service %q", service)
	}
	return bulkheadOf(series), nil
}

func label(metric *dto.Metric, name string) string {
	for _, pair := range metric.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

func bulkheadOf(series map[string]int) bulkhead {
	const calls = "servicebulkhead_calls_total"
	return bulkhead{
		limit:        series["servicebulkhead_limit"],
		inFlight:     series["servicebulkhead_in_flight"],
		waiting:      series["servicebulkhead_waiting"],
		admitted:     series[calls+"admitted"],
		shed:         series[calls+"saturated"],
		refused:      series[calls+"refused"] + series[calls+"draining"] + series[calls+"closed"],
		cancelled:    series[calls+"cancelled"],
		waits:        series["servicebulkhead_waits_total"],
		lapses:       series["servicebulkhead_lapses_total"],
		lateReleases: series["servicebulkhead_late_releases_total"],
	}
}
