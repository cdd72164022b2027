// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// The types of the conditions in status.conditions. Ready and Stalled are the
// names that kstatus, and so every GitOps tool, understands.
const (
	// ConditionAccepted is True when the bulkhead is part of the document that its
	// ConfigMap carries.
	ConditionAccepted = "Accepted"
	// ConditionReady is True when the ConfigMap holds the bulkhead as it is now;
	// pods that mount it follow within 90s.
	ConditionReady = "Ready"
	// ConditionStalled is True, beside Ready=False, when the bulkhead waits for a
	// person: nothing the operator can do by itself would change that.
	ConditionStalled = "Stalled"
)

// Reasons of ConditionAccepted.
const (
	// ReasonAccepted: the bulkhead is valid and its service is its own.
	ReasonAccepted = "Accepted"
	// ReasonInvalid: the object breaks a rule; it was stored before the rule
	// existed. Its last accepted entry stays published.
	ReasonInvalid = "Invalid"
	// ReasonServiceConflict: another bulkhead of the same ConfigMap has the service.
	ReasonServiceConflict = "ServiceConflict"
	// ReasonDocumentFull: the document has no room for the bulkhead.
	ReasonDocumentFull = "DocumentFull"
)

// Reasons of ConditionReady; where the bulkhead is not accepted, the reason is
// that of ConditionAccepted.
const (
	// ReasonPublished: the ConfigMap holds the bulkhead as it is now.
	ReasonPublished = "Published"
	// ReasonConfigMapConflict: somebody else's ConfigMap has the name; it is never
	// touched.
	ReasonConfigMapConflict = "ConfigMapConflict"
	// ReasonConfigMapImmutable: the ConfigMap is marked immutable.
	ReasonConfigMapImmutable = "ConfigMapImmutable"
	// ReasonConfigMapRefused: the API server refuses the write, as a quota or an
	// admission policy makes it do. It is tried again, every 30s at least.
	ReasonConfigMapRefused = "ConfigMapRefused"
)
