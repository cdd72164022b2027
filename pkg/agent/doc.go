// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent runs a process's bulkheads as its mounted ConfigMap says.
//
//	a, err := agent.New("/etc/servicebulkhead")
//	…
//	payments := a.Bulkhead("payments") // the same handle for ever; follows every reload
//	err = payments.Do(ctx, func(ctx context.Context) error { return charge(ctx) })
//	…
//	report, err := a.ShutdownOnSignal(ctx) // the end of main: waits for SIGTERM, drains
//
// The agent watches the directory, applies each new document to the bulkheads in
// place, so that calls in flight stay accounted for, and keeps the last good
// document when the present one is gone or wrong. Shutdown drains the process:
// report not ready, stop producers, wait for running calls, close dependencies in
// reverse order.
//
// Transport and Middleware put HTTP clients and servers behind bulkheads, and the
// package agentgrpc gRPC ones. DebugHandler shows what the bulkheads do now,
// ReadyHandler and LiveHandler answer probes, and the package agentprom has metrics.
//
// The agent never exits or panics its host, needs no cluster to start, and imports
// nothing of Kubernetes. It does not talk to an API server and does not catch
// signals unless asked to.
package agent
