// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// Entry returns what the document holds for the bulkhead, under its Service. It
// returns the errors of Validate, joined, for a bulkhead that breaks a rule: what
// is invalid never reaches a pod.
func Entry(b *ServiceBulkhead) (bulkheadconfig.Service, error) {
	if errs := Validate(b); len(errs) > 0 {
		return bulkheadconfig.Service{}, errs.ToAggregate()
	}
	spec := b.Spec
	entry := bulkheadconfig.Service{
		Limit:        int(*spec.Limit),
		MaxWait:      spec.MaxWait.valid(),
		ReclaimAfter: spec.ReclaimAfter.valid(),
		OnReclaim:    bulkheadconfig.OnReclaim(cmp.Or(spec.OnReclaim, OnReclaimCancel)),
		Enforcement:  bulkheadconfig.Enforcement(cmp.Or(spec.Enforcement, EnforcementEnforce)),
	}
	if spec.Queue != nil {
		entry.Queue = &bulkheadconfig.Queue{
			Capacity:       int(spec.Queue.Capacity),
			MaxConcurrency: int(spec.Queue.MaxConcurrency),
		}
	}
	if spec.DrainTimeout != "" {
		entry.DrainTimeout = new(spec.DrainTimeout.valid())
	}
	return entry, nil
}

// valid returns the length of a duration that Validate has passed; absent, 0.
func (d Duration) valid() time.Duration {
	length, _ := bulkheadconfig.ParseDuration(string(d)) // Validate has parsed it
	return length
}
