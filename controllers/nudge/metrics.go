// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxSeries is how many series each of the metrics with the names of ConfigMaps may
// have: people choose those, and could annotate pods with revisions of their own. The
// smallest are told together, as (other).
const maxSeries = 1000

const (
	otherValue = "(other)"
	// olderValue stands for the revision of a pod that has been nudged to none and
	// started before the present one.
	olderValue = "(older)"
)

var (
	nudges = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "servicebulkhead_nudges_total",
		Help: "Pods annotated so that their kubelet brings a ConfigMap up to date, by result. In the steady state it does not grow.",
	}, []string{"result"})

	consumersDesc = prometheus.NewDesc("servicebulkhead_consumers",
		"Running pods that ask for nudges and mount a ConfigMap, by the revision that they have read or were nudged to last.",
		[]string{"namespace", "configmap", "revision"}, nil)
	subPathDesc = prometheus.NewDesc("servicebulkhead_subpath_consumers",
		"Running pods that ask for nudges and mount a ConfigMap by subPath, so that no change of it ever reaches them.",
		[]string{"namespace", "configmap"}, nil)

	consumers = &consumersCollector{}
)

// Collectors are all metrics of this package. They count for the process.
func Collectors() []prometheus.Collector {
	for _, r := range []result{sent, gone, overtaken, refused, failed} {
		nudges.WithLabelValues(string(r)) // there before it first counts
	}
	return []prometheus.Collector{nudges, consumers}
}

// consumersCollector counts the pods in the cache whenever somebody asks, so that no
// series outlives its pods. Where no Nudger runs there are none.
type consumersCollector struct{ nudger atomic.Pointer[Nudger] }

// follow has the pods of a Nudger counted; nil, of none.
func (c *consumersCollector) follow(n *Nudger) { c.nudger.Store(n) }

// Describe implements prometheus.Collector.
func (c *consumersCollector) Describe(out chan<- *prometheus.Desc) {
	out <- consumersDesc
	out <- subPathDesc
}

// Collect implements prometheus.Collector.
func (c *consumersCollector) Collect(out chan<- prometheus.Metric) {
	n := c.nudger.Load()
	if n == nil {
		return
	}
	pods, err := n.pods.all(context.Background())
	if err != nil {
		return // the cache ends
	}
	mounted, stuck := count(pods, n.board.document)
	emit(out, consumersDesc, mounted, func(s series) []string { return []string{s.namespace, s.configMap, s.revision} })
	emit(out, subPathDesc, stuck, func(s series) []string { return []string{s.namespace, s.configMap} })
}

// series is what the metrics tell pods apart by.
type series struct{ namespace, configMap, revision string }

// count counts running pods, but for those about to go, by what they mount of the documents that are known.
func count(pods []corev1.Pod, known func(types.NamespacedName) (Document, bool)) (mounted, stuck map[series]int) {
	mounted, stuck = map[series]int{}, map[series]int{}
	for i := range pods {
		if pods[i].Status.Phase != corev1.PodRunning || pods[i].DeletionTimestamp != nil {
			continue
		}
		for configMap, how := range mountsOf(&pods[i]) {
			d, ok := known(types.NamespacedName{Namespace: pods[i].Namespace, Name: configMap})
			s := series{namespace: pods[i].Namespace, configMap: configMap}
			switch {
			case !ok:
			case how == bySubPath:
				stuck[s]++
			default:
				s.revision = revisionOf(&pods[i], configMap, d)
				mounted[s]++
			}
		}
	}
	return mounted, stuck
}

var revisionPattern = regexp.MustCompile("^[0-9a-f]{16}$")

// revisionOf is the revision that a pod has read or was nudged to last.
func revisionOf(pod *corev1.Pod, configMap string, d Document) string {
	said, nudged := pod.Annotations[Annotation(configMap)]
	switch why, _ := decide(pod, configMap, d); {
	case why == current || why == startedLater:
		return d.Revision
	case !nudged:
		return olderValue
	case !revisionPattern.MatchString(said):
		return otherValue // somebody else's text
	}
	return said
}

// emit sends the largest counts one by one, and the sum of the rest.
func emit(out chan<- prometheus.Metric, desc *prometheus.Desc, counts map[series]int, labels func(series) []string) {
	for s, n := range capped(counts, maxSeries) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), labels(s)...)
	}
}

// capped keeps so many of the counts, the largest, and adds the others up.
func capped(counts map[series]int, most int) map[series]int {
	if len(counts) <= most {
		return counts
	}
	all := make([]series, 0, len(counts))
	for s := range counts {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b series) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.namespace, b.namespace),
			cmp.Compare(a.configMap, b.configMap), cmp.Compare(a.revision, b.revision))
	})
	kept := map[series]int{}
	for i, s := range all {
		if i >= most-1 {
			s = series{otherValue, otherValue, otherValue}
		}
		kept[s] += counts[all[i]]
	}
	return kept
}
