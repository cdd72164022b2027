// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command operator publishes ServiceBulkheads in ConfigMaps.
//
//	operator --kubeconfig=$HOME/.kube/config --leader-elect=false --namespaces=shop
//
// It runs until SIGTERM or SIGINT, finishes what it is at within 20 s and gives
// its lease back; a second signal ends it at once. It exits with 0 after a signal,
// with 2 for flags that it cannot make sense of, and with 1 for everything else,
// a lost lease among it: the pod's restart is the way to start afresh. It decides
// nothing itself; see package controllers.
package main
