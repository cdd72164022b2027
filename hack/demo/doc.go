// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Demo shows the whole path of the project, with nothing faked, in about a minute:
// a ServiceBulkhead goes from kubectl through a real API server and the operator
// into a ConfigMap, from there as files into a running application, which it
// limits, follows without a restart and drains.
//
//	go run ./hack/demo
//	DEMO_KEEP=1 go run ./hack/demo   # leaves everything running to play with
//
// The acts are listed in acts.go and told in the files act_*.go. Each checks what
// it shows; the exit code is 1 if anything was not as it should be. Everything it
// starts listens on loopback and is stopped at the end, also after Ctrl-C.
//
// The command in pods shows it on a node, in pods; package story is what both are
// told with.
//
// It is no benchmark: the clients, the application, the service and the control
// plane share one machine.
package main
