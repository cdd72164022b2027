// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the ServiceBulkhead resource of the API group
// servicebulkhead.io: its Go types, what they mean where a field is absent, and
// its rules, as pure functions for the operator and for everybody who cannot ask an
// API server.
//
//	b, errs := v1alpha1.Parse(text)       // what no Go value shows: types, unknown fields
//	errs = v1alpha1.Validate(b)           // what the schema and its CEL rules refuse
//	risks := v1alpha1.Warnings(b)         // what the admission policy warns of
//	lists := v1alpha1.ValidateSet(set)    // what only shows beside the others
//	entry, err := v1alpha1.Entry(b)       // what the agent will read
//
// Judge is ValidateSet for the operator, which knows what the document holds
// already.
//
// The package talks to no API server. What only a change can break (immutable
// fields) is left to that.
//
// +kubebuilder:object:generate=true
// +groupName=servicebulkhead.io
package v1alpha1
