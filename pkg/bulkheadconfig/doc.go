// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bulkheadconfig is the document that travels from the operator to the
// agent: every bulkhead of one ConfigMap, under one revision, as JSON under one
// key that names its format.
//
//	text, err := bulkheadconfig.Encode(map[string]bulkheadconfig.Service{
//		"payments": {Limit: 25, ReclaimAfter: 30 * time.Second},
//	})
//	doc, err := bulkheadconfig.Decode(text)
//	doc.Services["payments"].Limit // 25
//
// Equal values give equal bytes and an equal revision, in whatever order they
// were collected and however their durations were written. Decode is strict
// about types, required fields, duplicate keys and trailing data, and lenient
// about fields it does not know, so that an older agent reads a newer
// operator's document.
//
// The package does not watch files, talk to an API server or judge policy: how
// large a limit may be is the API's business, what is safe to run is this
// package's.
package bulkheadconfig
