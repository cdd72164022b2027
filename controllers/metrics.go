// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/servicebulkhead/servicebulkhead/controllers/internal/answer"
)

// No metric has a label whose values people choose: there are as many series for
// 5,000 bulkheads as for one. (Those of package nudge do, and have a bound instead.)
var (
	configMapWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "servicebulkhead_configmap_writes_total",
		Help: "ConfigMaps written, by reason. In the steady state it does not grow.",
	}, []string{"reason"})

	statusWrites = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "servicebulkhead_status_writes_total",
		Help: "Statuses of ServiceBulkheads written. In the steady state it does not grow.",
	})

	conflicts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "servicebulkhead_conflicts_total",
		Help: "Writes that somebody else's overtook, by kind of object. They are tried again.",
	}, []string{"kind"})

	reconciles = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "servicebulkhead_reconciles_total",
		Help: "Passes over a ConfigMap, by outcome.",
	}, []string{"outcome"})

	publishDuration = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "servicebulkhead_publish_duration_seconds",
		Help: "From a ServiceBulkhead's change, as the operator hears of it, until its ConfigMap holds it. " +
			"Of changes that are written together, the first counts.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
	})

	population = newCensus()
)

// The kinds of object that a conflict may be about.
const (
	kindConfigMap = "ConfigMap"
	kindBulkhead  = "ServiceBulkhead"
)

// passOutcome is what a pass came to, as the metric tells it.
type passOutcome string

const (
	passUnchanged passOutcome = "Unchanged"
	passWritten   passOutcome = "Written"
	passBlocked   passOutcome = "Blocked"
	passOvertaken passOutcome = "Overtaken"
	passFailed    passOutcome = "Failed"
)

// outcomeOf sums a pass up. An obstacle needs a person, so it goes before the error
// that it may come with.
func outcomeOf(p pass, errs []error) passOutcome {
	outcome := passUnchanged
	if p.after.wrote {
		outcome = passWritten
	}
	for _, err := range errs {
		switch {
		case answer.Gone(err):
		case overtaken(err) && outcome != passFailed:
			outcome = passOvertaken
		case !overtaken(err):
			outcome = passFailed
		}
	}
	if p.after.obstacle != "" {
		outcome = passBlocked
	}
	return outcome
}

func countConflict(kind string, err error) {
	if overtaken(err) {
		conflicts.WithLabelValues(kind).Inc()
	}
}

// collectors are all metrics of this package.
func collectors() []prometheus.Collector {
	return []prometheus.Collector{configMapWrites, statusWrites, conflicts, reconciles, publishDuration, population}
}

// beginSeries has each series there before it first counts: to increase() a counter
// that appears with 7 has not grown.
func beginSeries() {
	for _, reason := range []writeReason{
		writeMissing, writeChanged, writeRevision, writeKeyMissing, writeUnreadable, writeEdited, writeUnlabelled, writeAdopted,
	} {
		configMapWrites.WithLabelValues(string(reason))
	}
	for _, kind := range []string{kindConfigMap, kindBulkhead} {
		conflicts.WithLabelValues(kind)
	}
	for _, outcome := range []passOutcome{passUnchanged, passWritten, passBlocked, passOvertaken, passFailed} {
		reconciles.WithLabelValues(string(outcome))
	}
}

// registerMetrics adds the metrics to those that the manager serves. They count
// for the process, so a second manager in it finds them there.
func registerMetrics(collectors ...prometheus.Collector) error {
	beginSeries()
	for _, collector := range collectors {
		err := metrics.Registry.Register(collector)
		if _, there := errors.AsType[prometheus.AlreadyRegisteredError](err); err != nil && !there {
			return err
		}
	}
	return nil
}
