// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package story

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// What every demo is about: the bulkhead "payments" of the shop.
const (
	Namespace = "shop"
	ConfigMap = "service-bulkheads"
	Bulkhead  = "payments"
)

// ArrivalTimeout is how long a change may take from kubectl's return to the limiter.
const ArrivalTimeout = 5 * time.Second

// PatchArgs are kubectl's arguments that change fields of the bulkhead's spec, which
// are given as JSON.
func PatchArgs(spec string) []string {
	return []string{"-n", Namespace, "patch", "sbh", Bulkhead, "--type=merge", "-p", `{"spec":` + spec + `}`}
}

// Words are a flat JSON object for people: {"limit":10} is "limit 10".
func Words(spec string) string {
	return strings.NewReplacer("{", "", "}", "", `"`, "", ":", " ", ",", ", ").Replace(spec)
}

// ExpectInForce checks how long a change took from kubectl's return to a process,
// which may be over before kubectl returns.
func (t *Teller) ExpectInForce(what string, returned, inForce time.Time) {
	t.Expect(inForce.Sub(returned) < ArrivalTimeout, what,
		"within "+ArrivalTimeout.String()+" of kubectl's return", beside(inForce, returned)+" kubectl's return")
}

// beside says how one moment lies beside another.
func beside(moment, other time.Time) string {
	if d := moment.Sub(other).Round(time.Millisecond); d > 0 {
		return d.String() + " after"
	}
	return "before"
}

// RefuseChange tries a wait that amounts to an unbounded one.
func RefuseChange(ctx context.Context, k Kubectl) error {
	before, err := k.generation(ctx)
	if err != nil {
		return err
	}
	message, err := k.ShowRefused(ctx, PatchArgs(`{"maxWait":"1h"}`)...)
	if err != nil {
		return err
	}
	now, err := k.generation(ctx)
	if err != nil {
		return err
	}
	t := k.Teller
	t.Expect(message != "", "maxWait of an hour", "refused", verdict(message))
	t.ExpectEqual("the message names the field", strings.Contains(message, "spec.maxWait"), true)
	t.ExpectEqual("the message names the rule", strings.Contains(message, "must be at most 60s"), true)
	t.ExpectEqual("generation of the object, which counts its changes", now, before)
	return nil
}

func verdict(message string) string {
	if message == "" {
		return "accepted"
	}
	return "refused"
}

// generation changes whenever the spec does.
func (k Kubectl) generation(ctx context.Context) (string, error) {
	text, err := k.Run(ctx, "-n", Namespace, "get", "sbh", Bulkhead, "-o", "jsonpath={.metadata.generation}")
	if err != nil {
		return "", fmt.Errorf("generation: %w", err)
	}
	return text, nil
}
