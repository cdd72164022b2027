// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"testing"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/load"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
)

const lastWords = `{"drain": {"lameDuckSeconds": 3.001, "producersSeconds": 0.25, "totalSeconds": 3.26, "finished": 7, "letGo": 1, "remaining": 2},
	"services": {"payments": {"admitted": 300, "saturated": 70}, "search": {"admitted": 9}}}`

func TestTellEnd(t *testing.T) {
	out := tell(t, nil, func(_ context.Context, s *stage) {
		got, err := s.tellEnd(pod("shop-a", ended(137, lastWords)))
		if err != nil || got.Services["payments"].Counts != (words.Counts{Admitted: 300, Saturated: 70}) {
			t.Errorf("%+v, %v", got, err)
		}
	})
	for _, want := range []string{
		"lame duck 3.00s, producers stopped 0.25s", "3.26s of 45s", "7 calls finished, 1 let go, 2 remaining", "300 admitted, 70 shed",
		"✗ shop-a ended with exit code: 137, expected 0", "✗ shop-a: calls that it left behind: 2, expected 0",
	} {
		if !strings.Contains(out.text, want) {
			t.Errorf("%q is not in\n%s", want, out.text)
		}
	}
	tell(t, nil, func(_ context.Context, s *stage) {
		if _, err := s.tellEnd(pod("shop-a", ended(0, "listening"))); err == nil || !strings.Contains(err.Error(), `"listening"`) {
			t.Errorf("words that are no report: %v", err)
		}
		if _, err := s.tellEnd(pod("shop-a", draining)); err == nil {
			t.Error("no words at all")
		}
	})
}

// A call that only one end knows of fails a check, whichever end it is.
func TestCompare(t *testing.T) {
	pods := []string{"shop-a", "shop-b"}
	both := func(a, aShed, b, bShed uint64) map[string]words.Counts {
		return map[string]words.Counts{"shop-a": {Admitted: a, Saturated: aShed}, "shop-b": {Admitted: b, Saturated: bShed}}
	}
	for _, test := range []struct {
		name   string
		said   map[string]words.Counts
		got    map[string]load.Counts
		failed int
	}{
		{"even", both(3, 1, 2, 0), map[string]load.Counts{"shop-a": {OK: 2, Shed: 1, TimedOut: 1}, "shop-b": {OK: 2}}, 0},
		{"admitted, not served", both(3, 1, 2, 0), map[string]load.Counts{"shop-a": {OK: 2, Shed: 1, Failed: 1}, "shop-b": {OK: 2}}, 1},
		{"of a pod that nobody knows", both(3, 1, 0, 0), map[string]load.Counts{"shop-a": {OK: 3, Shed: 1}, "unknown": {OK: 1, Shed: 1}}, 2},
	} {
		out := tell(t, nil, func(_ context.Context, s *stage) { s.compare(test.said, test.got, pods) })
		if out.failed != test.failed {
			t.Errorf("%s: %d checks failed, want %d\n%s", test.name, out.failed, test.failed, out.text)
		}
	}
}
