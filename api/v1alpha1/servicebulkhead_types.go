// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The comments on the fields below are what `kubectl explain` shows; the markers
// are what the API server enforces. Validate repeats the rules, word for word.

// Duration is a length of time in the Gateway API's format (GEP-2257): one to
// four whole numbers of at most five digits, each with its unit h, m, s or ms,
// such as 50ms, 30s or 1m30s. It is a string rather than a metav1.Duration, which
// cannot decode everything that this format's past and future bounds admit.
//
// A CEL rule checks the format because the message of a `pattern` is the bare
// expression. Its length is what the format can reach, and bounds the cost of the
// rules on it.
//
// +kubebuilder:validation:MaxLength=28
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="must be a duration such as 50ms, 30s or 1m30s: one to four whole numbers, each with its unit h, m, s or ms; no sign, no fraction, no days, and 0 needs a unit too (0s)"
type Duration string

// OnReclaim says what happens to a call whose slot is reclaimed while it runs.
// +kubebuilder:validation:Enum=Cancel;Release
type OnReclaim string

const (
	// OnReclaimCancel cancels the call's context.
	OnReclaimCancel OnReclaim = "Cancel"
	// OnReclaimRelease lets the call run on, no longer counted.
	OnReclaimRelease OnReclaim = "Release"
)

// Enforcement says what happens to a call above the limit.
// +kubebuilder:validation:Enum=Enforce;Shadow
type Enforcement string

const (
	// EnforcementEnforce sheds it.
	EnforcementEnforce Enforcement = "Enforce"
	// EnforcementShadow admits it, counts it as one that would have waited or been
	// shed, and cancels nothing.
	EnforcementShadow Enforcement = "Shadow"
)

// DefaultConfigMapName is the schema's default for spec.configMapName.
const DefaultConfigMapName = "service-bulkheads"

// ServiceBulkheadSpec is the bulkhead that every process of the application
// keeps between itself and one service.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxWait) || !self.maxWait.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || !self.reclaimAfter.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self.maxWait) > duration('60s') || duration(self.reclaimAfter) < duration('1ms') || duration(self.reclaimAfter) > duration('24h') || duration(self.reclaimAfter) > duration(self.maxWait)",fieldPath=".reclaimAfter",message="must be longer than spec.maxWait: otherwise waiting calls are admitted on top of calls that still run"
type ServiceBulkheadSpec struct {
	// service is the name by which the application asks the agent for this
	// bulkhead: a DNS label of at most 63 characters. Absent, it is metadata.name.
	// It cannot be changed: to rename a service, add a second bulkhead, roll the
	// pods, then delete the first.
	// Example: payments
	//
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be a DNS label: lower-case letters, digits and '-', with a letter or digit at both ends"
	Service string `json:"service,omitempty"`

	// configMapName is the ConfigMap, in the bulkhead's own namespace, through
	// which pods receive this bulkhead. Bulkheads with the same name share one
	// ConfigMap; pods mount it. A DNS label of at most 63 characters that ends in
	// -bulkheads. It cannot be changed. Absent, it is service-bulkheads.
	// Example: checkout-bulkheads
	//
	// +optional
	// +default="service-bulkheads"
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9][-a-z0-9]*-bulkheads$')",message="must be a DNS label that ends in -bulkheads, such as service-bulkheads: no bulkhead can then point the operator at another kind of ConfigMap"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="is immutable: pods that mount the old ConfigMap would lose their protection; add a second bulkhead, roll the pods, then delete this one"
	ConfigMapName string `json:"configMapName,omitempty"`

	// limit is how many calls to the service may be in flight at once, in each
	// process, from 0 to 65536. 0 is the kill switch: it admits nothing, unless
	// enforcement is Shadow. It can be changed at any time; calls already in
	// flight are left alone.
	// Example: 25
	// ---
	// A pointer, because 0 means something and a forgotten limit must not. Without
	// a format, because int32 would have a large number refused twice.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65536
	// +kubebuilder:validation:Format=""
	Limit *int32 `json:"limit,omitempty"`

	// maxWait is how long a call may wait for a slot before it is shed, at most
	// 60s, in units of h, m, s or ms. Absent or 0s sheds at once.
	// Example: 50ms
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self) <= duration('60s')",message="must be at most 60s: an unbounded wait is the pile-up that a bulkhead exists to prevent"
	MaxWait Duration `json:"maxWait,omitempty"`

	// reclaimAfter is how long a call may hold a slot before the slot counts as
	// abandoned and is used again, from 1ms to 24h, in units of h, m, s or ms. It
	// must be longer than maxWait, and should be longer than the longest
	// legitimate call.
	// Example: 30s
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || (duration(self) >= duration('1ms') && duration(self) <= duration('24h'))",message="must be from 1ms to 24h: a slot that is never reclaimed is lost for good when its call hangs"
	ReclaimAfter Duration `json:"reclaimAfter,omitempty"`

	// onReclaim says what happens to a call that still runs when its slot is
	// reclaimed. Cancel cancels the call's context; Release lets it run on, no
	// longer counted, so that a hung service gains up to limit more calls in every
	// reclaimAfter. Where enforcement is Shadow, nothing is cancelled. Absent, it
	// is Cancel.
	// Example: Cancel
	//
	// +optional
	// +default="Cancel"
	OnReclaim OnReclaim `json:"onReclaim,omitempty"`

	// enforcement says what happens to a call above the limit. Enforce sheds it,
	// at once or after maxWait. Shadow admits every call and only counts, to try a
	// limit out before it bites: nobody waits, no task is queued or refused, and
	// no call is cancelled. Absent, it is Enforce.
	// Example: Shadow
	//
	// +optional
	// +default="Enforce"
	Enforcement Enforcement `json:"enforcement,omitempty"`

	// queue lets the application hand over tasks that run as soon as there is
	// room. Absent, there is no queue and a task that finds no slot is refused.
	// Example: {capacity: 64, maxConcurrency: 8}
	//
	// +optional
	Queue *Queue `json:"queue,omitempty"`

	// drainTimeout is how long this service's running calls may take to finish
	// when the pod terminates, at most 10m, in units of h, m, s or ms. Absent, the
	// process's own time-out applies; it applies too where it is the shorter one.
	// Example: 20s
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self) <= duration('10m')",message="must be at most 10m: the pod is killed when its termination grace period ends, whatever still runs"
	DrainTimeout Duration `json:"drainTimeout,omitempty"`
}

// Queue bounds the tasks that wait for a slot.
type Queue struct {
	// capacity is how many tasks may wait, from 1 to 65536; one more is refused.
	// The longest wait is about capacity divided by the tasks finished per second.
	// Example: 64
	// ---
	// Without a format: see spec.limit.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	// +kubebuilder:validation:Format=""
	Capacity int32 `json:"capacity,omitempty"`

	// maxConcurrency is how many slots queued tasks may hold at once, from 1 to
	// 65536; the smaller of it and spec.limit applies. Absent, spec.limit applies.
	// Example: 8
	// ---
	// Without a format: see spec.limit.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	// +kubebuilder:validation:Format=""
	MaxConcurrency int32 `json:"maxConcurrency,omitempty"`
}

// ServiceBulkheadStatus is what became of the bulkhead.
type ServiceBulkheadStatus struct {
	// conditions tell what became of the bulkhead. Accepted: it is part of the
	// document that its ConfigMap carries. Ready: the ConfigMap holds it as it is
	// now, and pods that mount it follow within 90s. Stalled is True when it waits
	// for a person.
	// Example: [{type: Ready, status: "True", reason: Published}]
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the metadata.generation that the rest of the status
	// speaks about. Absent, it is -1: the operator has not seen the object yet. A
	// smaller number than metadata.generation means that the last change is still
	// being worked on.
	// Example: 3
	// ---
	// The status as a whole has the same default; this one is for a status that
	// somebody empties.
	//
	// +optional
	// +default=-1
	// +kubebuilder:validation:Minimum=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// service is the name by which the application asks for this bulkhead:
	// spec.service, or metadata.name where that is absent.
	// Example: payments
	// ---
	// As long as a metadata.name may be: of an object whose name breaks a newer
	// rule, the status must still be able to say so.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Service string `json:"service,omitempty"`

	// configMapRef is where the bulkhead is published. Absent, it is nowhere.
	// Example: {name: service-bulkheads, revision: 2f6c9d0b1a7e4c35}
	//
	// +optional
	ConfigMapRef *ConfigMapRef `json:"configMapRef,omitempty"`
}

// ConfigMapRef names a published entry.
type ConfigMapRef struct {
	// name is the ConfigMap in the bulkhead's namespace.
	// Example: service-bulkheads
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// revision is the revision of this bulkhead's entry in the document: it
	// changes when the values that pods act on do, and with nothing else.
	// Example: 2f6c9d0b1a7e4c35
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision,omitempty"`
}

// ServiceBulkhead limits how many calls to one service each process of an
// application has in flight at once, so that a slow service cannot take the
// application down with it. The operator publishes it in a ConfigMap; the
// agent in the pod enforces it, and follows changes without a restart.
// ---
// What is immutable is the effective service: writing out the name that was
// implied changes nothing for a pod, so it is allowed.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=sbh,categories=resilience
// +kubebuilder:printcolumn:name="Service",type=string,JSONPath=`.status.service`,description="the name the application asks for"
// +kubebuilder:printcolumn:name="Limit",type=integer,JSONPath=`.spec.limit`,description="calls in flight at once, per process"
// +kubebuilder:printcolumn:name="MaxWait",type=string,JSONPath=`.spec.maxWait`,description="how long a call may wait for a slot"
// +kubebuilder:printcolumn:name="Reclaim",type=string,JSONPath=`.spec.reclaimAfter`,description="how long a slot may be held"
// +kubebuilder:printcolumn:name="Enforcement",type=string,JSONPath=`.spec.enforcement`,description="whether calls above the limit are shed or only counted"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="whether pods receive the bulkhead as it is now"
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="why it is ready, or why not"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec.service) || (self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))",fieldPath=".spec.service",reason=FieldValueRequired,message="metadata.name cannot stand in for it: it is not a DNS label of at most 63 characters"
// +kubebuilder:validation:XValidation:rule="(has(self.spec.service) ? self.spec.service : self.metadata.name) == (has(oldSelf.spec.service) ? oldSelf.spec.service : oldSelf.metadata.name)",fieldPath=".spec.service",message="is immutable: running pods that ask for the old name would lose their protection; add a second bulkhead, roll the pods, then delete this one"
type ServiceBulkhead struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is that of every Kubernetes object.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the bulkhead as it should be: how many calls to one service each
	// process of the application may have in flight, how long one more may wait,
	// and when a slot counts as abandoned. limit and reclaimAfter are required.
	// Example: {service: payments, limit: 25, maxWait: 50ms, reclaimAfter: 30s}
	//
	// +required
	Spec ServiceBulkheadSpec `json:"spec,omitzero"`

	// status is what became of the bulkhead: whether and where pods can read it.
	// Only the operator writes it.
	// Example: {observedGeneration: 3, service: payments, configMapRef: {…}}
	//
	// +optional
	// +default={"observedGeneration":-1}
	Status ServiceBulkheadStatus `json:"status,omitzero"`
}

// ServiceBulkheadList is a list of bulkheads.
//
// +kubebuilder:object:root=true
type ServiceBulkheadList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ServiceBulkhead `json:"items"`
}
