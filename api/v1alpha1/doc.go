// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the ServiceBulkhead resource of the API group
// servicebulkhead.io: its Go types, what they mean where a field is absent, and
// the rules that admission enforces, as pure functions for everybody who cannot
// ask an API server.
//
//	var b v1alpha1.ServiceBulkhead
//	err := yaml.UnmarshalStrict(manifest, &b)
//	errs := v1alpha1.Validate(&b)      // what the API server would answer
//	entry, err := v1alpha1.Entry(&b)   // what the agent will read
//	doc[b.Service()] = entry
//
// The package talks to no API server and judges one object at a time: two
// bulkheads for one service are the operator's concern, and so is what became of
// an object.
//
// +kubebuilder:object:generate=true
// +groupName=servicebulkhead.io
package v1alpha1
