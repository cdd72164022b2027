// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package bulkheadconfig

import (
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files")

func sample() map[string]Service {
	return map[string]Service{
		"payments": {
			Limit: 25, MaxWait: 50 * time.Millisecond, ReclaimAfter: 30 * time.Second,
			Queue: &Queue{Capacity: 64, MaxConcurrency: 8}, DrainTimeout: new(20 * time.Second),
		},
		"search": {Limit: 0, ReclaimAfter: 90 * time.Second, OnReclaim: Release, Enforcement: Shadow, Queue: &Queue{Capacity: 1}},
	}
}

func TestEncodeMatchesTheGoldenFile(t *testing.T) {
	text, err := Encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != string(want) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// O08, adyanth/cloudflare-operator#26: the same objects in any order give the
// same bytes.
func TestO08EqualValuesGiveEqualBytes(t *testing.T) {
	all := map[string]Service{}
	for i := range 50 {
		all[string(rune('a'+i%26))+strings.Repeat("x", i)] = Service{Limit: i, ReclaimAfter: time.Minute}
	}
	want, err := Encode(all)
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Collect(maps.Keys(all))
	for range 1_000 {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		shuffled := map[string]Service{}
		for _, name := range names {
			shuffled[name] = all[name]
		}
		if got, err := Encode(shuffled); err != nil || string(got) != string(want) {
			t.Fatalf("bytes differ: %v", err)
		}
	}
}

func TestRevisionFollowsValuesNotSpelling(t *testing.T) {
	minute := func(text string) Service {
		d, err := ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return Service{Limit: 1, ReclaimAfter: d}
	}
	if a, b := minute("60s"), minute("1m"); a.Revision() != b.Revision() {
		t.Error("60s and 1m have different revisions")
	}
	explicit := Service{Limit: 1, ReclaimAfter: time.Minute, OnReclaim: Cancel, Enforcement: Enforce}
	if minute("1m").Revision() != explicit.Revision() {
		t.Error("a default and its explicit value have different revisions")
	}
	if a, b := minute("1m"), minute("61s"); a.Revision() == b.Revision() {
		t.Error("1m and 61s have the same revision")
	}
}

func TestEncodeRefusesWhatDecodeWould(t *testing.T) {
	for want, s := range map[string]Service{
		`services["x"].limit: -1: must be from 0`:           {Limit: -1, ReclaimAfter: time.Second},
		`services["x"].reclaimAfter: 0s: must be from 1ms`:  {},
		`services["x"].maxWait: -1s: must be from 0s`:       {MaxWait: -time.Second, ReclaimAfter: time.Second},
		`services["x"].queue.capacity: 0: must be from 1`:   {ReclaimAfter: time.Second, Queue: &Queue{}},
		`services["x"].onReclaim: "Kill": must be Cancel`:   {ReclaimAfter: time.Second, OnReclaim: "Kill"},
		`services["x"].enforcement: "Ask": must be Enforce`: {ReclaimAfter: time.Second, Enforcement: "Ask"},
	} {
		if _, err := Encode(map[string]Service{"x": s}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for _, name := range []string{"", "a b", "\xff", "(other)"} {
		if _, err := Encode(map[string]Service{name: {ReclaimAfter: time.Second}}); err == nil {
			t.Errorf("the name %q was encoded", name)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	entry := func(fields string) string {
		return `{"revision":"r","services":{"x":{` + fields + `}}}`
	}
	for _, c := range []struct{ text, want string }{
		{"", "document is empty"},
		{" \n", "document is empty"},
		{"null", "document is null: must be an object"},
		{"[]", "document is a list: must be an object"},
		{"\xff{}", "not UTF-8"},
		{`{"services":{}}`, "revision: required"},
		{`{"revision":"","services":{}}`, "revision: must not be empty"},
		{`{"revision":"r"}`, "services: required"},
		{`{"revision":"r","services":{"":{"limit":1,"reclaimAfter":"1s"}}}`, `services: "": a service's name has 1 to 253 letters`},
		{`{"revision":"r","services":{"(other)":{"limit":1,"reclaimAfter":"1s"}}}`, `services: "(other)": a service's name has`},
		{entry(`"limit":1,"l\u0069mit":2`), `duplicate key "limit" in services.x`},
		{entry(`"reclaimAfter":"1s"`), `services["x"].limit: required`},
		{entry(`"Limit":1,"reclaimAfter":"1s"`), `services["x"].limit: required`},
		{entry(`"limit":1`), `services["x"].reclaimAfter: required`},
		{entry(`"limit":1.0,"reclaimAfter":"1s"`), `services["x"].limit: 1.0: must be a whole number`},
		{entry(`"limit":1e2,"reclaimAfter":"1s"`), `services["x"].limit: 1e2: must be a whole number`},
		{entry(`"limit":-1,"reclaimAfter":"1s"`), `services["x"].limit: -1: must be from 0`},
		{entry(`"limit":99999999999,"reclaimAfter":"1s"`), `services["x"].limit: 99999999999: must be a whole number of at most 32 bits`},
		{entry(`"limit":1,"reclaimAfter":"-1s"`), `services["x"].reclaimAfter: "-1s" is not a duration`},
		{entry(`"limit":1,"reclaimAfter":"1d"`), `services["x"].reclaimAfter: "1d" is not a duration`},
		{entry(`"limit":1,"reclaimAfter":"0s"`), `services["x"].reclaimAfter: 0s: must be from 1ms`},
		{entry(`"limit":1,"reclaimAfter":"1s","queue":{}`), `services["x"].queue.capacity: required`},
		{entry(`"limit":1,"reclaimAfter":"1s","queue":{"capacity":0}`), `services["x"].queue.capacity: 0: must be from 1`},
		{entry(`"limit":1,"reclaimAfter":"1s","onReclaim":"cancel"`), `services["x"].onReclaim: "cancel": must be Cancel or Release`},
		{entry(`"limit":1,"reclaimAfter":"1s","drainTimeout":"soon"`), `services["x"].drainTimeout: "soon" is not a duration`},
	} {
		doc, err := Decode([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s", c.text, err, c.want)
		}
		if !reflect.DeepEqual(doc, Document{}) {
			t.Errorf("%s: part of the document came back: %+v", c.text, doc)
		}
	}
}

func TestDecodeListsWhatItDoesNotKnow(t *testing.T) {
	doc, err := Decode([]byte(`{"revision":"r","color":1,"services":{"x":{"limit":1,"reclaimAfter":"1s","LIMIT":2,"queue":{"capacity":1,"fair":{"deep":[]}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"color", `services["x"].LIMIT`, `services["x"].queue.fair`}
	if !slices.Equal(doc.Unknown, want) || doc.Services["x"].Limit != 1 {
		t.Errorf("unknown: %q, limit %d; want %q and 1", doc.Unknown, doc.Services["x"].Limit, want)
	}
}

// Whatever the text, Decode returns a document that is safe to run, or an error.
func FuzzDecode(f *testing.F) {
	text, err := Encode(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"revision":"r","services":{"x":{"limit":1,"reclaimAfter":"1s","new":{"a":[1,{}]}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := Decode(text)
		if err != nil {
			return
		}
		again, err := Encode(doc.Services)
		if err != nil {
			t.Fatalf("decoded what cannot be encoded: %v", err)
		}
		back, err := Decode(again)
		if err != nil || !reflect.DeepEqual(back.Services, doc.Services) {
			t.Fatalf("a second round gave %+v, %v; want %+v", back.Services, err, doc.Services)
		}
	})
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "50ms": 50 * time.Millisecond, "1m30s": 90 * time.Second, "24h": 24 * time.Hour,
		"1s1s": 2 * time.Second, "00001h": time.Hour, "99999h99999h99999h99999h": 4 * 99999 * time.Hour,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "5", "-1s", "+1s", "1.5s", "1d", "1us", "123456s", "1h1m1s1ms1s", " 1s", "1s\n", "1S", "١s", "s"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(maxDuration/time.Millisecond)).Draw(t, "ms")) * time.Millisecond
		if got, err := ParseDuration(FormatDuration(d)); err != nil || got != d {
			t.Fatalf("%v is written %s and read back as %v, %v", d, FormatDuration(d), got, err)
		}
	})
}
