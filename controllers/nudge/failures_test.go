// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var podsResource = schema.GroupResource{Resource: "pods"}

// TestFailuresAreTriedAgain, ever less often, and not for ever: by then the kubelets
// have followed of themselves. The log has one line for all of them.
func TestFailuresAreTriedAgain(t *testing.T) {
	forbidden := func(j job) error {
		return apierrors.NewForbidden(podsResource, j.pod.name, errors.New("User cannot patch resource"))
	}
	for name, answer := range map[string]func(job) error{
		"refused": forbidden, "away": func(job) error { return errCut },
	} {
		t.Run(name, func(t *testing.T) {
			pods := newFake(fleet(3)...)
			pods.answer = answer
			withRig(t, pods, DefaultRate, func(t *testing.T, r *rig) {
				r.publish(1)
				after(time.Minute)
				if got := len(r.pods.take()); got < 3*5 || got > 3*7 {
					t.Errorf("%d tries within a minute", got)
				}
				after(patience)
				r.pods.take()
				after(time.Hour / 2)
				if got := len(r.pods.take()); got != 0 {
					t.Errorf("%d tries later", got)
				}
				if got := r.log(); len(got) != 2 || !strings.Contains(got[1], "annotate pods") {
					t.Errorf("logged %q", got)
				}
				pods.answer = nil
				r.publish(2)
				after(time.Second)
				if got := len(r.pods.take()); got != 3 {
					t.Errorf("%d nudges to the next document", got)
				}
			})
		})
	}
}

// TestPodsThatCannotBeListedAreLookedAtAgain: a look that fails is not lost.
func TestPodsThatCannotBeListedAreLookedAtAgain(t *testing.T) {
	pods := newFake(fleet(3)...)
	pods.listing = errCut
	withRig(t, pods, DefaultRate, func(t *testing.T, r *rig) {
		r.publish(1)
		after(time.Minute)
		if got := r.log(); len(got) != 1 {
			t.Errorf("logged %q", got)
		}
		pods.mu.Lock()
		pods.listing = nil
		pods.mu.Unlock()
		after(5 * time.Second)
		if got := len(r.pods.take()); got != 3 {
			t.Errorf("%d nudges, want 3", got)
		}
	})
}

// TestManyFailuresAreOneLook: many pods that are to be tried again are not many looks at
// all of them.
func TestManyFailuresAreOneLook(t *testing.T) {
	pods := newFake(fleet(200)...)
	pods.answer = func(job) error { return errCut }
	withRig(t, pods, 100, func(t *testing.T, r *rig) {
		r.publish(1)
		after(time.Minute)
		if tries := len(r.pods.take()); tries < 200*5 || pods.looks > 2*60 {
			t.Errorf("%d looks for %d tries", pods.looks, tries)
		}
	})
}

// TestOnePodThatFailsHoldsUpNoOther, as one with too many annotations does.
func TestOnePodThatFailsHoldsUpNoOther(t *testing.T) {
	pods := newFake(fleet(20)...)
	pods.answer = func(j job) error {
		if j.pod.name == "shop-0007" {
			return apierrors.NewForbidden(podsResource, j.pod.name, errors.New("1,000 annotations"))
		}
		return nil
	}
	withRig(t, pods, DefaultRate, func(t *testing.T, r *rig) {
		r.publish(1)
		after(1500 * time.Millisecond)
		done := map[string]bool{}
		for _, w := range r.pods.take() {
			done[w.pod.name] = true
		}
		if len(done) != 20 {
			t.Errorf("%d of 20 were tried", len(done))
		}
		after(time.Minute)
		for _, w := range r.pods.take() {
			if w.pod.name != "shop-0007" {
				t.Errorf("%s is nudged again", w.pod.name)
			}
		}
	})
}

// TestAPodThatIsGoneIsNoError, nor is it tried again.
func TestAPodThatIsGoneIsNoError(t *testing.T) {
	pods := newFake(fleet(3)...)
	pods.answer = func(j job) error {
		defer pods.change(j.pod.name, deleting)
		return apierrors.NewNotFound(podsResource, j.pod.name)
	}
	withRig(t, pods, DefaultRate, func(t *testing.T, r *rig) {
		r.publish(1)
		after(time.Hour)
		if got := len(r.pods.take()); got != 3 {
			t.Errorf("%d nudges", got)
		}
		if got := r.log(); len(got) != 1 {
			t.Errorf("logged %q", got)
		}
	})
}
