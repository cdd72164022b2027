// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the whole system where people run it: in pods, which a kubelet
// starts, mounts the ConfigMap for, and kills.
//
//	make e2e
//
// runs it on a node of its own. On a cluster that exists, KUBECONFIG says which, and
// these say where the images are; each has the name shown by default:
//
//	SERVICEBULKHEAD_IMAGE_OPERATOR   servicebulkhead-operator:latest
//	SERVICEBULKHEAD_IMAGE_SHOP       servicebulkhead-shop:latest
//	SERVICEBULKHEAD_IMAGE_PAYMENTS   servicebulkhead-payments:latest
//	SERVICEBULKHEAD_IMAGE_LOAD       servicebulkhead-load:latest
//	SERVICEBULKHEAD_IMAGE_UPGRADE    the operator's image under another digest, to
//	                                 upgrade to; absent, the same image is rolled out again
//
// The suite installs the operator and takes it away again, so it refuses a cluster
// that has one. Nearly each of its steps kills the operator that leads (step, in
// kill_test.go). Figures stand in one table at the end of a run.
//
// Each spec runs alone, too, by its label: -ginkgo.label-filter=life, refuse, nudge,
// idle, slow, kubelet, load, hang or uninstall.
//
//	E2E_KILL=0    kills no operator
//	E2E_IDLE=10m  how long nothing may be patched while nothing changes (1m)
//	E2E_KEEP=1    leaves everything as it is in the end
//	E2E_REMOTE=1  does as on a cluster elsewhere, whose processes cannot be killed and
//	              whose pods are reached through the API server
//
// It does not look at the answers of the API server in detail (test/admission), nor
// at every command of the documentation (test/install).
package e2e
