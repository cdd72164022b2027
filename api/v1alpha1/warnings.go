// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "time"

// The warnings. Each stands in the admission policy too, and in
// testdata/warnings.yaml, with which tests compare the two.
const (
	riskyLimit = "spec.limit: 0 is the kill switch: no call to the service is admitted; " +
		"set 1 or more unless the service is meant to be cut off"
	idleLimit = "spec.limit: 0 cuts nothing off while spec.enforcement is Shadow: every call to the service is admitted; " +
		"set Enforce for the kill switch"
	riskyMaxWait = "spec.maxWait: 1s or more holds callers for that long while the service is slow, so that they pile up; " +
		"choose a fraction of a second, or 0s to shed at once"
	riskyReclaimAfter = "spec.reclaimAfter: less than 1s takes the slots of calls that are merely slow, and cancels them or stops counting them; " +
		"choose it longer than the longest legitimate call"
	riskyEnforcement = "spec.enforcement: Shadow admits every call, however many are in flight, and only counts those above the limit; " +
		"set Enforce once the counts look right"
	riskyCapacity = "spec.queue.capacity: more than ten times the slots that queued tasks may hold: when the service hangs, " +
		"the last task waits longer than ten times spec.reclaimAfter; lower it, or raise spec.queue.maxConcurrency or spec.limit"
	riskyMaxConcurrency = "spec.queue.maxConcurrency: more than spec.limit changes nothing: queued tasks may hold every slot, as if it were absent; " +
		"choose less than spec.limit to keep slots for other calls, or leave it out"
)

// queueRounds is how many times reclaimAfter the last task of a queue may wait,
// while every call before it hangs, before that is worth a warning.
const queueRounds = 10

// Warnings returns what is legal but risky about b, a line each: the field, what
// happens, and how to mend it. They are what the admission policy says; one
// mistake gives one warning. Of what Validate refuses it says nothing, as the API
// server does.
func Warnings(b *ServiceBulkhead) []string {
	if len(Validate(b)) > 0 {
		return nil
	}
	spec := &b.Spec
	shadow := spec.Enforcement == EnforcementShadow
	var out []string
	warn := func(risky bool, text string) {
		if risky {
			out = append(out, text)
		}
	}
	warn(*spec.Limit == 0 && !shadow, riskyLimit)
	warn(*spec.Limit == 0 && shadow, idleLimit)
	warn(spec.MaxWait.valid() >= time.Second && !shadow, riskyMaxWait)
	warn(spec.ReclaimAfter.valid() < time.Second, riskyReclaimAfter)
	warn(shadow, riskyEnforcement)
	if spec.queues() {
		warn(spec.Queue.Capacity > queueRounds*spec.queueShare(), riskyCapacity)
		warn(spec.Queue.MaxConcurrency > *spec.Limit, riskyMaxConcurrency)
	}
	return out
}

// queues tells whether a task can ever wait for one of several slots: with a limit
// of 0 there is nothing to share, and in Shadow every task runs at once.
func (s *ServiceBulkheadSpec) queues() bool {
	return s.Queue != nil && *s.Limit > 0 && s.Enforcement != EnforcementShadow
}

// queueShare is how many slots queued tasks may hold at once.
func (s *ServiceBulkheadSpec) queueShare() int32 {
	if s.Queue.MaxConcurrency > 0 {
		return min(*s.Limit, s.Queue.MaxConcurrency)
	}
	return *s.Limit
}
