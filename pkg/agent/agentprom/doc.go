// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agentprom exposes an agent's bulkheads to Prometheus.
//
//	prometheus.MustRegister(agentprom.NewCollector(a))
//	http.Handle("/metrics", promhttp.Handler())
//
// It pulls: nothing is counted twice and a call costs nothing extra. There is one
// set of series for each service that a document lists or has listed, or that the
// application has defaults for; and one, with the service agent.Overflow, for all
// others together, so that made-up names cannot grow the number of series.
//
// It is a package of its own so that only who imports it depends on the
// Prometheus client.
package agentprom
