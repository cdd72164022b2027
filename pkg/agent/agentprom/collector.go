// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agentprom

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// metric is one family with one value for each service, and how it is read.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(limiter.Stats) float64
	// setting says that it is configured: it makes no sense for services together.
	setting bool
}

func perService(kind prometheus.ValueType, name, help string, read func(limiter.Stats) float64) metric {
	return metric{desc: prometheus.NewDesc("servicebulkhead_"+name, help, []string{"service"}, nil), kind: kind, read: read}
}

func setting(name, help string, read func(limiter.Stats) float64) metric {
	m := perService(prometheus.GaugeValue, name, help, read)
	m.setting = true
	return m
}

var perServiceMetrics = []metric{
	setting("limit", "Calls that may be in flight at once.",
		func(s limiter.Stats) float64 { return float64(s.Limit) }),
	setting("max_wait_seconds", "How long a call may wait for a slot.",
		func(s limiter.Stats) float64 { return s.MaxWait.Seconds() }),
	setting("reclaim_after_seconds", "How long a slot may be held before it is taken back.",
		func(s limiter.Stats) float64 { return s.ReclaimAfter.Seconds() }),
	perService(prometheus.GaugeValue, "in_flight", "Slots held now.",
		func(s limiter.Stats) float64 { return float64(s.InFlight) }),
	perService(prometheus.GaugeValue, "waiting", "Calls waiting for a slot now.",
		func(s limiter.Stats) float64 { return float64(s.Waiting) }),
	perService(prometheus.GaugeValue, "overdue", "Calls still running though their slot has lapsed.",
		func(s limiter.Stats) float64 { return float64(s.Overdue) }),
	perService(prometheus.GaugeValue, "unlimited", "Calls running without a slot: Shadow above the limit, or not configured.",
		func(s limiter.Stats) float64 { return float64(s.Unlimited) }),
	setting("shadow", "1 when the bulkhead admits everything and only counts (enforcement: Shadow).",
		func(s limiter.Stats) float64 { return boolean(s.Mode == limiter.Shadow) }),
	perService(prometheus.CounterValue, "shadowed_total", "Admitted calls that enforcement would have made wait or shed.",
		func(s limiter.Stats) float64 { return float64(s.Counts.Shadowed) }),
	perService(prometheus.CounterValue, "waits_total", "Calls that waited for a slot and have left the line.",
		func(s limiter.Stats) float64 { return float64(s.Counts.Waited) }),
	perService(prometheus.CounterValue, "wait_seconds_total", "Time that calls spent waiting for a slot.",
		func(s limiter.Stats) float64 { return s.Counts.WaitTime.Seconds() }),
	perService(prometheus.CounterValue, "lapses_total", "Slots held for the whole reclaim window, and taken back.",
		func(s limiter.Stats) float64 { return float64(s.Counts.Lapsed) }),
	perService(prometheus.CounterValue, "late_releases_total", "Calls that ended after their slot had lapsed.",
		func(s limiter.Stats) float64 { return float64(s.Counts.LateReleases) }),
	perService(prometheus.GaugeValue, "tasks_active", "Tasks of the queue that run now.",
		func(s limiter.Stats) float64 { return float64(s.Tasks.Active) }),
	perService(prometheus.GaugeValue, "tasks_queued", "Tasks that wait in the queue now.",
		func(s limiter.Stats) float64 { return float64(s.Tasks.Queued) }),
	setting("tasks_queue_capacity", "Tasks that the queue holds; 0 without a queue.",
		func(s limiter.Stats) float64 { return float64(s.Tasks.Capacity) }),
	perService(prometheus.CounterValue, "tasks_done_total", "Tasks that have ended, failed ones included.",
		func(s limiter.Stats) float64 { return float64(s.Counts.TasksDone) }),
	perService(prometheus.CounterValue, "task_failures_total", "Tasks that ended with an error, observed or not.",
		func(s limiter.Stats) float64 { return float64(s.Counts.TaskFailures) }),
	perService(prometheus.CounterValue, "stale_releases_total", "Releases of a permit that was released or reset before.",
		func(s limiter.Stats) float64 { return float64(s.Counts.StaleReleases) }),
}

// results are the ways in which a call that asked for a slot was answered.
var results = map[string]func(limiter.Counts) uint64{
	"admitted":   func(c limiter.Counts) uint64 { return c.Admitted },
	"saturated":  func(c limiter.Counts) uint64 { return c.Saturated },
	"refused":    func(c limiter.Counts) uint64 { return c.Refused },
	"draining":   func(c limiter.Counts) uint64 { return c.Draining },
	"closed":     func(c limiter.Counts) uint64 { return c.Closed },
	"queue_full": func(c limiter.Counts) uint64 { return c.QueueFull },
	"cancelled":  func(c limiter.Counts) uint64 { return c.Cancelled },
}

var (
	calls = prometheus.NewDesc("servicebulkhead_calls_total",
		"Calls that asked for a slot, by the answer they got.", []string{"service", "result"}, nil)
	info = prometheus.NewDesc("servicebulkhead_document_info",
		"The revision of the document in force; always 1.", []string{"revision"}, nil)
	applied = prometheus.NewDesc("servicebulkhead_document_applied_timestamp_seconds",
		"When the document in force was applied, in Unix time; 0 before the first.", nil, nil)
	lastRead = prometheus.NewDesc("servicebulkhead_document_last_good_read_timestamp_seconds",
		"When a good document was last read, changed or not, in Unix time; 0 before the first.", nil, nil)
	lastTry = prometheus.NewDesc("servicebulkhead_document_last_read_timestamp_seconds",
		"When the directory was last read, in Unix time, whatever came of it (see servicebulkhead_document_good).", nil, nil)
	staleness = prometheus.NewDesc("servicebulkhead_document_since_last_good_read_seconds",
		"Seconds since a good document was last read, changed or not; absent before the first.", nil, nil)
	age = prometheus.NewDesc("servicebulkhead_document_age_seconds",
		"Seconds since the document in force was applied; absent before the first.", nil, nil)
	watched = prometheus.NewDesc("servicebulkhead_document_watched",
		"1 when the system announces changes of the directory, 0 when they are found by polling.", nil, nil)
	good = prometheus.NewDesc("servicebulkhead_document_good",
		"1 when the last read found a good document, else 0.", nil, nil)
	updatable = prometheus.NewDesc("servicebulkhead_document_updatable",
		"0 when the document is in a subPath mount or plain directory, which is never updated.", nil, nil)
	unknownFields = prometheus.NewDesc("servicebulkhead_document_unknown_fields",
		"Fields of the document in force that this version ignores.", nil, nil)
	reloads = prometheus.NewDesc("servicebulkhead_document_reloads_total",
		"Documents applied, and reads of the directory that found no good document (several for each bad one).", []string{"result"}, nil)
	drainSteps = prometheus.NewDesc("servicebulkhead_drain_step_seconds",
		"How long each step of the drain took, 0 until it has ended; absent before the drain.", []string{"step"}, nil)
	drainCalls = prometheus.NewDesc("servicebulkhead_drain_calls",
		"What became of the calls that a drain found; absent before the drain.", []string{"outcome"}, nil)
	ready = prometheus.NewDesc("servicebulkhead_ready",
		"0 from the moment that the process drains.", nil, nil)
)

type collector struct{ agent *agent.Agent }

// NewCollector returns a collector of the agent's bulkheads and of how it gets on
// with its document. The caller registers it.
func NewCollector(a *agent.Agent) prometheus.Collector { return collector{a} }

// Describe implements prometheus.Collector.
func (collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range perServiceMetrics {
		ch <- m.desc
	}
	for _, d := range []*prometheus.Desc{calls, info, applied, age, lastTry, lastRead, staleness, watched, good, updatable, unknownFields, reloads, drainSteps, drainCalls, ready} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	named, rest, some := bounded(c.agent.Services())
	for _, s := range named {
		collectService(ch, s, true)
	}
	if some {
		collectService(ch, rest, false)
	}
	collectSource(ch, c.agent.Source())
	ch <- gauge(ready, boolean(c.agent.Ready()))
	if report, draining := c.agent.Draining(); draining {
		collectDrain(ch, report)
	}
}

func collectDrain(ch chan<- prometheus.Metric, r agent.Report) {
	for step, took := range map[string]time.Duration{
		"lame_duck": r.LameDuck, "producers": r.Producers, "running": r.Running, "dependencies": r.Dependencies,
	} {
		ch <- gauge(drainSteps, took.Seconds(), step)
	}
	for outcome, n := range map[string]int{"let_go": r.LetGo(), "finished": r.Finished(), "remaining": r.Remaining()} {
		ch <- gauge(drainCalls, float64(n), outcome)
	}
}

// bounded folds the services that are not known by name into one, and says whether
// there are any. What a service had counted before it became known stays there, so
// that no counter falls when it does.
func bounded(services []agent.Service) (named []limiter.Stats, rest limiter.Stats, some bool) {
	rest.Name = agent.Overflow
	for _, s := range services {
		if !s.Named {
			fold(&rest, s.Stats)
			some = true
			continue
		}
		rest.Counts = rest.Counts.Add(s.Before)
		some = some || s.Before != limiter.Counts{}
		s.Counts = s.Counts.Sub(s.Before)
		named = append(named, s.Stats)
	}
	return named, rest, some
}

func fold(sum *limiter.Stats, s limiter.Stats) {
	sum.InFlight += s.InFlight
	sum.Waiting += s.Waiting
	sum.Overdue += s.Overdue
	sum.Unlimited += s.Unlimited
	sum.Tasks.Active += s.Tasks.Active
	sum.Tasks.Queued += s.Tasks.Queued
	sum.Counts = sum.Counts.Add(s.Counts)
}

// collectService reports one service. Where nothing is limited there are no
// settings: a limit of 0 would read as the kill switch.
func collectService(ch chan<- prometheus.Metric, s limiter.Stats, settings bool) {
	for _, m := range perServiceMetrics {
		if settings && s.Mode != limiter.PassThrough || !m.setting {
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(s), s.Name)
		}
	}
	for result, count := range results {
		ch <- prometheus.MustNewConstMetric(calls, prometheus.CounterValue, float64(count(s.Counts)), s.Name, result)
	}
}

func collectSource(ch chan<- prometheus.Metric, s agent.SourceStatus) {
	if s.Revision != "" {
		ch <- gauge(info, 1, s.Revision)
		ch <- gauge(age, time.Since(s.Applied).Seconds())
		ch <- gauge(staleness, time.Since(s.LastGoodRead).Seconds())
	}
	ch <- gauge(applied, unix(s.Applied))
	ch <- gauge(lastTry, unix(s.LastRead))
	ch <- gauge(lastRead, unix(s.LastGoodRead))
	ch <- gauge(watched, boolean(s.Watched))
	ch <- gauge(good, boolean(s.Err == nil))
	ch <- gauge(updatable, boolean(s.Updatable))
	ch <- gauge(unknownFields, float64(len(s.Unknown)))
	ch <- prometheus.MustNewConstMetric(reloads, prometheus.CounterValue, float64(s.Reloads), "applied")
	ch <- prometheus.MustNewConstMetric(reloads, prometheus.CounterValue, float64(s.Failures), "failed")
}

func gauge(desc *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, labels...)
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1e3
}
