// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	configMapWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "servicebulkhead_configmap_writes_total",
		Help: "ConfigMaps written, by reason. In the steady state it does not grow.",
	}, []string{"reason"})

	statusWrites = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "servicebulkhead_status_writes_total",
		Help: "Statuses of ServiceBulkheads written. In the steady state it does not grow.",
	})
)

// registerMetrics adds the counters to those that the manager serves. They count
// for the process, so a second manager in it finds them there.
func registerMetrics() error {
	for _, counter := range []prometheus.Collector{configMapWrites, statusWrites} {
		err := metrics.Registry.Register(counter)
		if _, there := errors.AsType[prometheus.AlreadyRegisteredError](err); err != nil && !there {
			return err
		}
	}
	return nil
}
