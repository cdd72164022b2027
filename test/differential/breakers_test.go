// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// breaker makes one mistake in an object that is valid and has every field.
type breaker func(r *rand.Rand, o *object, broken rule)

// breakers by kind of rule.
var breakers = map[string]breaker{
	required: func(r *rand.Rand, o *object, broken rule) {
		if oneIn(r, 2) {
			o.set(broken.path, "null")
			return
		}
		o.drop(broken.path)
	},
	typed: func(r *rand.Rand, o *object, broken rule) {
		o.set(broken.path, pick(r, others[broken.schema.Type]...))
	},
	minimum: func(r *rand.Rand, o *object, broken rule) {
		least := int64(*broken.schema.Minimum)
		o.set(broken.path, far(r, least, -1))
	},
	maximum: func(r *rand.Rand, o *object, broken rule) {
		most := int64(*broken.schema.Maximum)
		o.set(broken.path, far(r, most, +1))
	},
	maxLength: func(r *rand.Rand, o *object, broken rule) {
		most := int(*broken.schema.MaxLength)
		length := int(between(r, int64(most)+1, int64(most)+100))
		o.set(broken.path, quote(r, strings.Repeat(pick(r, "a", "1", "é", "-"), length)))
	},
	enum: func(r *rand.Rand, o *object, broken rule) {
		known := pick(r, broken.schema.Enum...).Raw
		word := strings.Trim(string(known), `"`)
		o.set(broken.path, quote(r, pick(r, "", strings.ToLower(word), strings.ToUpper(word), word+" ", word+"s", "Kill")))
	},
	form: func(r *rand.Rand, o *object, broken rule) {
		o.set(broken.path, pick(r, misshapen[broken.path]...))
	},
	unknown: func(r *rand.Rand, o *object, broken rule) {
		if broken.path == "status" {
			o.set("status", "") // an object, without members as yet
		}
		o.add(join(broken.path, unknownName(r, broken)), pick(r, anything...))
	},
	duplicate: func(r *rand.Rand, o *object, broken rule) {
		again := *o.find(broken.path)
		if again.value != "" && broken.path != "metadata.name" && oneIn(r, 2) {
			again.value = pick(r, "null", "0", `"x"`, "true", "[]", "{}")
		}
		siblings, _ := o.siblings(broken.path)
		*siblings = append(*siblings, &again)
	},
	cel: func(r *rand.Rand, o *object, broken rule) {
		celBreakers[broken.String()](r, o, broken)
	},
}

const nameStandsIn = "spec.service: metadata.name cannot stand in for it"

// celBreakers by rule.
var celBreakers = map[string]breaker{
	"spec.maxWait: must be a duration such as 50ms, 30s or 1m30s":      breakDuration,
	"spec.reclaimAfter: must be a duration such as 50ms, 30s or 1m30s": breakDuration,
	"spec.drainTimeout: must be a duration such as 50ms, 30s or 1m30s": breakDuration,
	"spec.maxWait: must be at most 60s":                                longerThan(time.Minute),
	"spec.drainTimeout: must be at most 10m":                           longerThan(10 * time.Minute),
	"spec.reclaimAfter: must be from 1ms to 24h": func(r *rand.Rand, o *object, broken rule) {
		if oneIn(r, 2) {
			o.set(broken.path, quote(r, spell(r, 0)))
			return
		}
		longerThan(24*time.Hour)(r, o, broken)
	},
	"spec.reclaimAfter: must be longer than spec.maxWait": func(r *rand.Rand, o *object, _ rule) {
		maxWait := milliseconds(r, time.Millisecond, time.Minute)
		o.set("spec.maxWait", quote(r, spell(r, maxWait)))
		o.set("spec.reclaimAfter", quote(r, spell(r, milliseconds(r, time.Millisecond, maxWait))))
	},
	"spec.service: must be a DNS label": func(r *rand.Rand, o *object, _ rule) {
		o.set("spec.service", quote(r, badLabel(r)))
	},
	"spec.configMapName: must be a DNS label that ends in -bulkheads, such as service-bulkheads": func(r *rand.Rand, o *object, _ rule) {
		o.set("spec.configMapName", quote(r, pick(r, "", "-bulkheads", "bulkheads", "abulkheads", "kube-root-ca.crt", "service-bulkheads2",
			"a.b-bulkheads", "A-bulkheads", "a_b-bulkheads", "a-bulkheads\n", "a-Bulkheads", "é-bulkheads", "service-bulkhead", label(r, 40)+"-")))
	},
	nameStandsIn: func(r *rand.Rand, o *object, _ rule) {
		o.drop("spec.service")
		o.set("metadata.name", quote(r, subdomain(r)))
	},
}

// misshapen are values against Kubernetes' own rules.
var misshapen = map[string][]string{
	"metadata.name":        {`"A_b"`, `"-a"`, `"a/b"`, `"a..b"`, `"é"`, encode(strings.Repeat("a", 254))},
	"metadata.labels":      {`{"app":"x y"}`, `{"app":"-x"}`, encode(map[string]string{"app": strings.Repeat("a", 64)})},
	"metadata.annotations": {`{"a b":"x"}`, `{"-a":"x"}`, `{"example.com/":"x"}`},
	"kind":                 {`"Servicebulkhead"`, `"ServiceBulkheadList"`, `"ConfigMap"`},
}

// breakDuration writes what is no duration, however much it looks like one.
func breakDuration(r *rand.Rand, o *object, broken rule) {
	good := spell(r, milliseconds(r, 0, time.Hour))
	o.set(broken.path, quote(r, pick(r, "", "0", "5", "-"+good, "+"+good, "1.5s", "1d", "1w", "500us", "1µs", "123456s", "1s1s1s1s1s",
		" 1s", "1s ", "1s\n", "1S", "١s", "s", "1 s", "1m30", "PT1M", "forever", "1s,", "1_000ms", "0x1s", "1e3ms", "\u00a01s", "1s\x00")))
}

// far writes a number beyond a border, just or by far. Large ones are written
// plainly: of 1e10 the API server says 1e+10, and we 10000000000.
func far(r *rand.Rand, border, direction int64) string {
	if oneIn(r, 3) {
		return strconv.FormatInt(border+direction*pick[int64](r, 1<<31, 1<<32, 1<<40), 10)
	}
	return number(r, border+direction*pick[int64](r, 1, 2, 1_000))
}

func longerThan(most time.Duration) breaker {
	return func(r *rand.Rand, o *object, broken rule) {
		d := milliseconds(r, most+time.Millisecond, pick(r, 2*most, 99_999*time.Hour))
		o.set(broken.path, quote(r, spell(r, d)))
	}
}

// badLabel draws what is no DNS label, and no longer than one.
func badLabel(r *rand.Rand) string {
	good := label(r, 40)
	return pick(r, "", "-"+good, good+"-", good+"."+good[:1], "A"+good, good+"_x", good+" ", "é", "-", good+"\n", "\x00", "(other)", strings.Repeat("é", 63))
}

// others are values of other types than the one that they stand under.
var others = map[string][]string{
	"integer": {`"25"`, `""`, `"x"`, "true", "false", "[]", "[1]", "{}", "0.5", "1.5", "-0.1", "65535.99", "1e20", "99999999999999999999999"},
	"string":  {"0", "30", "-1", "1.5", "true", "false", "[]", `["a"]`, "{}"},
	"object":  {`"x"`, `""`, "3", "1.5", "true", "[]", "[{}]"},
}

// anything is any value, right or wrong.
var anything = []string{"null", "0", "1", `"x"`, `""`, "true", "[]", `[1,{"a":[]}]`, "{}", `{"a":{"b":null}}`}

// unknownName draws a name that an object's schema does not know, by preference
// one that looks as if it did. Of the root it leaves kind and apiVersion out: the
// API server looks for them in any case of letters before it reads the rest.
func unknownName(r *rand.Rand, of rule) string {
	var known []string
	if of.schema != nil {
		known = slices.Sorted(maps.Keys(of.schema.Properties))
	}
	known = slices.DeleteFunc(known, func(name string) bool { return of.path == "" && (name == "kind" || name == "apiVersion") })
	name := pick(r, append(known, "name")...)
	return pick(r, "x", "limits", strings.ToUpper(name[:1])+name[1:], name+"s", strings.ToUpper(name), "_"+name, fmt.Sprint(r.IntN(1e9)))
}
