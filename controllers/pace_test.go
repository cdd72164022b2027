// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestPaceGathersABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		one, other := types.NamespacedName{Name: "one"}, types.NamespacedName{Name: "other"}
		if got := p.wait(one); got > 0 {
			t.Errorf("the first write waits %s", got)
		}
		p.wrote(one)
		<-time.After(burst / 4)
		if got, want := p.wait(one), burst*3/4; got != want {
			t.Errorf("a quarter later: got %s, want %s", got, want)
		}
		if got := p.wait(other); got > 0 {
			t.Errorf("another ConfigMap waits %s", got)
		}
		<-time.After(burst * 3 / 4)
		if got := p.wait(one); got > 0 {
			t.Errorf("after the burst: still waits %s", got)
		}
		if len(p.written) != 0 {
			t.Errorf("remembers %v", p.written)
		}
	})
}

// TestO16NoDelayIsEverZeroOrPast: a write that was long ago, or at no time at all, is
// no reason to look again, let alone at once and again.
func TestO16NoDelayIsEverZeroOrPast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := types.NamespacedName{Name: "one"}
		for name, at := range map[string]time.Time{
			"just over": time.Now().Add(-burst), "long ago": time.Now().Add(-time.Hour), "never": {},
		} {
			p := newPace()
			p.written[key] = at
			if got := p.wait(key); got > 0 {
				t.Errorf("%s: waits %s", name, got)
			}
			if got := p.wait(key); got != 0 {
				t.Errorf("%s, asked again: got %s, want 0", name, got)
			}
		}
	})
}
