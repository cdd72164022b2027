// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission tests what a real API server does with ServiceBulkheads by
// itself: what it refuses and how it says so, what it fills in, and that applying
// a manifest twice changes nothing. No operator runs.
package admission
