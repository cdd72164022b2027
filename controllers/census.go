// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// census knows of every ConfigMap what its last pass saw, and tells the sums as
// metrics. A replica that does not lead has seen nothing.
type census struct {
	mu      sync.Mutex
	records map[types.NamespacedName]record
}

// record is what a pass saw of one ConfigMap.
type record struct {
	bytes, entries int
	reasons        map[string]int // bulkheads by the reason of Ready
}

func newCensus() *census { return &census{records: map[types.NamespacedName]record{}} }

// note keeps what a pass saw. Where nothing is left, there is nothing to remember.
func (c *census) note(key types.NamespacedName, r record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.entries == 0 && len(r.reasons) == 0 {
		delete(c.records, key)
		return
	}
	c.records[key] = r
}

// recordOf counts what a pass leaves behind: what pods read, and what the statuses
// say.
func recordOf(p pass) record {
	r := record{reasons: map[string]int{}, entries: len(p.after.published)}
	if r.entries > 0 {
		text, _ := p.current.text()
		if p.after.wrote {
			text = p.desired.text
		}
		r.bytes = len(text)
	}
	for _, v := range p.verdicts {
		ready := meta.FindStatusCondition(conditions(v, p.after), v1alpha1.ConditionReady)
		r.reasons[ready.Reason]++
	}
	return r
}

var (
	bulkheadsDesc = prometheus.NewDesc("servicebulkhead_bulkheads",
		"ServiceBulkheads, by the reason of their condition Ready; Published is the good one.", []string{"reason"}, nil)
	documentsDesc = prometheus.NewDesc("servicebulkhead_published_documents",
		"ConfigMaps whose document holds an entry.", nil, nil)
	entriesDesc = prometheus.NewDesc("servicebulkhead_published_entries",
		"Entries in all documents.", nil, nil)
	mostEntriesDesc = prometheus.NewDesc("servicebulkhead_largest_document_entries",
		"Entries in the document that has the most; there is room for 512.", nil, nil)
	mostBytesDesc = prometheus.NewDesc("servicebulkhead_largest_document_bytes",
		"Length of the longest document; there is room for 983040.", nil, nil)
)

// reasons are those of Ready, so that each has a series before it happens.
var reasons = []string{
	v1alpha1.ReasonPublished, v1alpha1.ReasonInvalid, v1alpha1.ReasonServiceConflict, v1alpha1.ReasonDocumentFull,
	v1alpha1.ReasonConfigMapConflict, v1alpha1.ReasonConfigMapImmutable, v1alpha1.ReasonConfigMapRefused,
}

// Describe implements prometheus.Collector.
func (c *census) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{bulkheadsDesc, documentsDesc, entriesDesc, mostEntriesDesc, mostBytesDesc} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *census) Collect(out chan<- prometheus.Metric) {
	documents, entries, most, total := c.sum()
	gauge := func(desc *prometheus.Desc, value int, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), labels...)
	}
	gauge(documentsDesc, documents)
	gauge(entriesDesc, entries)
	gauge(mostEntriesDesc, most.entries)
	gauge(mostBytesDesc, most.bytes)
	for _, reason := range reasons {
		gauge(bulkheadsDesc, total[reason], reason)
	}
}

// sum adds all records up; most has the largest number of each.
func (c *census) sum() (documents, entries int, most record, total map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	total = map[string]int{}
	for _, r := range c.records {
		if r.entries > 0 {
			documents++
		}
		entries += r.entries
		most.entries, most.bytes = max(most.entries, r.entries), max(most.bytes, r.bytes)
		for reason, n := range r.reasons {
			total[reason] += n
		}
	}
	return documents, entries, most, total
}
