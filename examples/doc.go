// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package examples holds three applications that use the agent, each small enough
// to be read in a minute. Every one serves requests, makes a call through a
// bulkhead for each, and drains on SIGTERM:
//
//	signalcontext   has a shutdown of its own, on signal.NotifyContext
//	httpserver      leaves the signal to the agent; http.Server.Shutdown
//	grpcserver      the same with gRPC's GracefulStop
//	go run ./httpserver -upstream http://127.0.0.1:8082/charge
//
// They exit with 0 if the drain lost nothing, and with 1 if something failed or a
// call had not ended; then standard error says what.
//
// The tests run them as processes that get a real SIGTERM under load. The examples
// are a module of their own, as an application is. They are not meant to be
// imported, and leave out what has nothing to do with bulkheads: TLS,
// authentication, metrics.
package examples
