// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers turns the ServiceBulkheads that name one ConfigMap into
// the one document that this ConfigMap carries to the pods.
//
//	options := controllers.Options{LeaderElection: true}
//	mgr, err := ctrl.NewManager(config, controllers.ManagerOptions(options))
//	err = controllers.Setup(mgr, options)
//	err = mgr.Start(ctx)
//
// The unit of work is the ConfigMap: every event of a bulkhead asks for the
// ConfigMap it names. One pass lists the bulkheads, judges each, renders the
// document, decides whether the ConfigMap must be written and why, writes it,
// and patches the statuses that changed. Judging, rendering and deciding are pure
// functions; only reading, writing and reporting talk to the API server.
//
// Where Options ask for it, package nudge is told after each pass what the ConfigMap
// holds, and lets pods follow at once.
//
// The package never deletes: a pod whose ConfigMap is gone does not start. When
// the last bulkhead goes, the document becomes empty. It sets no owner reference
// and no finalizer, so that it can be uninstalled at any moment, and it leaves
// alone every label, annotation and key of the ConfigMap but its own.
package controllers
