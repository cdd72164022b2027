// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Pods shows the project where it is used: an operator and an application of two
// replicas in pods, under load, which a kubelet starts, tells of changes and ends.
// It takes about a minute.
//
//	make demo-pods
//	DEMO_KEEP=1 make demo-pods   # leaves everything running
//
// It uses the cluster of KUBECONFIG, and kubectl from PATH. The images have the names
// that make images gives them, unless SERVICEBULKHEAD_IMAGE_OPERATOR, _SHOP,
// _PAYMENTS and _LOAD say others. It installs the operator and makes the namespace
// shop, and takes both away in the end; where either is there already, it does
// nothing.
//
// The acts are listed in acts.go and told in the files act_*.go. Each checks what it
// shows; the exit code is 1 if anything was not as it should be. Pods are asked
// through the API server, so that it may be anywhere.
package main
