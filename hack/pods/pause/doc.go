// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command pause is the process of a pod's sandbox: it holds the pod's namespaces
// while containers come and go, reaps what they leave behind, and ends when told.
//
//	pause
//
// It has no arguments and prints nothing.
package main
