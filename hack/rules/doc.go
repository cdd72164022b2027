// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules tests the manifests of config/monitoring: the alerts with promtool,
// Prometheus's own rule tester, and the objects of the Prometheus operator with its
// own types.
//
//	cd hack/rules && go test ./...
//
// The cases are in testdata, in promtool's format
// (https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/).
// Every alert has one in which it fires and one in which it does not. The package does
// not test that the metrics are right: that is done beside those who export them.
package rules
