// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission tests what a real API server does by itself with what
// config/default installs: what it refuses and how it says so, what it warns of and
// fills in, to what it holds the operator's account, and that applying a manifest
// twice changes nothing. No operator runs, but for the few specs that start one.
//
// Its tables are also the examples of docs/reference/admission.md. After a change:
//
//	go test ./test/admission -run TestReference -update
//
// It does not test the operator: that is done in controllers.
package admission
