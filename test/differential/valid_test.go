// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

const (
	letters = "abcdefghijklmnopqrstuvwxyz"
	edges   = letters + "0123456789"
	inner   = edges + "-"
)

// valid draws a bulkhead that breaks no rule: every field there or not, at its
// borders or between, and written in any way that JSON and the formats allow. All
// that may be there is there where full says so.
func valid(r *rand.Rand, full bool) object {
	spec := object{}
	metadata := object{{key: "name", value: quote(r, label(r, 63))}}
	// A service of its own lets the object have a name that is none.
	maybe := func(most int, add func()) {
		if full || oneIn(r, most) {
			add()
		}
	}
	text := func(key, text string) { spec = append(spec, &member{key: key, value: quote(r, text)}) }
	maybe(2, func() {
		text("service", label(r, 63))
		if oneIn(r, 2) {
			metadata[0].value = quote(r, subdomain(r))
		}
	})
	maybe(2, func() { text("configMapName", configMapName(r)) })
	spec = append(spec, &member{key: "limit", value: number(r, between(r, 0, 65_536))})
	maxWait := time.Duration(0)
	maybe(2, func() {
		maxWait = milliseconds(r, 0, time.Minute)
		text("maxWait", spell(r, maxWait))
	})
	text("reclaimAfter", spell(r, milliseconds(r, maxWait+time.Millisecond, 24*time.Hour)))
	maybe(2, func() { text("onReclaim", pick(r, "Cancel", "Release")) })
	maybe(2, func() { text("enforcement", pick(r, "Enforce", "Shadow")) })
	maybe(2, func() { spec = append(spec, &member{key: "queue", object: queue(r, full)}) })
	maybe(2, func() { text("drainTimeout", spell(r, milliseconds(r, 0, 10*time.Minute))) })
	return object{
		{key: "apiVersion", value: quote(r, v1alpha1.GroupVersion.String())}, {key: "kind", value: quote(r, "ServiceBulkhead")},
		{key: "metadata", object: metadata}, {key: "spec", object: spec},
	}
}

func queue(r *rand.Rand, full bool) object {
	q := object{{key: "capacity", value: number(r, between(r, 1, 65_536))}}
	if full || oneIn(r, 2) {
		q = append(q, &member{key: "maxConcurrency", value: number(r, between(r, 1, 65_536))})
	}
	return q
}

// harmless adds to a bulkhead what changes no verdict.
func harmless(r *rand.Rand, o *object) {
	if oneIn(r, 10) {
		o.add("metadata.labels", `{"app":"shop"}`)
		o.add("metadata.annotations", `{"example.com/owner":"the checkout team"}`)
	}
	if oneIn(r, 10) { // as kubectl get prints it; a creation drops it
		o.add("status", `{"observedGeneration":3,"service":"payments","conditions":[{"type":"Ready","status":"True",`+
			`"reason":"Published","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}],`+
			`"configMapRef":{"name":"service-bulkheads","revision":"2f6c9d0b1a7e4c35"}}`)
	}
	for _, path := range optional {
		if o.find(path) == nil && oneIn(r, 10) {
			o.add(path, "null") // what is null is absent
		}
	}
}

var optional = []string{
	"spec.service", "spec.configMapName", "spec.maxWait", "spec.onReclaim", "spec.enforcement", "spec.queue", "spec.drainTimeout",
}

// label draws a DNS label.
func label(r *rand.Rand, most int) string {
	n := int(between(r, 1, int64(most)))
	if n == 1 {
		return word(r, edges, 1)
	}
	return word(r, edges, 1) + word(r, inner, n-2) + word(r, edges, 1)
}

// subdomain draws a name that Kubernetes allows, and that is no label.
func subdomain(r *rand.Rand) string {
	if oneIn(r, 2) {
		return label(r, 40) + "." + label(r, 40)
	}
	return word(r, edges, 64+r.IntN(100))
}

func configMapName(r *rand.Rand) string {
	const ending = "-bulkheads"
	return word(r, edges, 1) + word(r, inner, int(between(r, 0, 62-int64(len(ending))))) + ending
}

func word(r *rand.Rand, from string, n int) string {
	var out strings.Builder
	for range n {
		out.WriteByte(from[r.IntN(len(from))])
	}
	return out.String()
}

// number writes a whole number; JSON knows no integers, so that 1, 1.0 and 1e0 are
// one.
func number(r *rand.Rand, n int64) string {
	text := strconv.FormatInt(n, 10)
	if !oneIn(r, 10) {
		return text
	}
	return pick(r, text+".0", text+"e0", text+".000", text+"E-0", text+".00e+0")
}

func milliseconds(r *rand.Rand, least, most time.Duration) time.Duration {
	return time.Duration(between(r, least.Milliseconds(), most.Milliseconds())) * time.Millisecond
}

// spell writes a duration in one of the many ways of the format.
func spell(r *rand.Rand, d time.Duration) string {
	parts := []struct {
		unit string
		size time.Duration
	}{{"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}
	first := r.IntN(len(parts)) // the largest unit, where it can hold the rest
	for d/parts[first].size > 99_999 {
		first--
	}
	var out []string
	for _, part := range parts[first:] {
		if n := d / part.size; n > 0 || oneIn(r, 5) {
			out = append(out, fmt.Sprintf("%0*d%s", 1+r.IntN(5), n, part.unit))
		}
		d %= part.size
	}
	if len(out) == 0 {
		return "0" + pick(r, "h", "m", "s", "ms")
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return strings.Join(out, "")
}
