// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// fleet is so many pods, and their names in order.
func fleet(n int, options ...option) (pods []*corev1.Pod) {
	for i := range n {
		pods = append(pods, newPod(fmt.Sprintf("shop-%04d", i), options...))
	}
	return pods
}

// TestPace: 20 pods get the document one by one, the first a moment after the write,
// the last within 1.2 s, in no order.
func TestPace(t *testing.T) {
	withRig(t, newFake(fleet(20)...), DefaultRate, func(t *testing.T, r *rig) {
		wrote := time.Now()
		r.publish(1)
		after(5 * time.Second)
		got := r.pods.take()
		if len(got) != 20 {
			t.Fatalf("%d nudges, want 20", len(got))
		}
		names := map[string]bool{}
		for i, w := range got {
			names[w.pod.name] = true
			if w.doc.Revision != revision(1) {
				t.Errorf("%s: %s", w.pod.name, w.doc.Revision)
			}
			if i > 0 && w.at.Sub(got[i-1].at) < 37*time.Millisecond {
				t.Errorf("%s comes %s after the one before", w.pod.name, w.at.Sub(got[i-1].at))
			}
		}
		if len(names) != 20 {
			t.Errorf("%d pods, want 20", len(names))
		}
		if first := got[0].at.Sub(wrote); first < headStart || first > 2*headStart {
			t.Errorf("the first after %s", first)
		}
		if last := got[19].at.Sub(wrote); last > 1200*time.Millisecond {
			t.Errorf("the last after %s", last)
		}
		if slices.IsSortedFunc(got, func(a, b write) int { return strings.Compare(a.pod.name, b.pod.name) }) {
			t.Error("they come in the order of their names")
		}
	})
}

// TestASlowAPIServerKeepsThePace: what waits for an answer holds nobody up.
func TestASlowAPIServerKeepsThePace(t *testing.T) {
	pods := newFake(fleet(20)...)
	pods.latency = 300 * time.Millisecond
	withRig(t, pods, DefaultRate, func(t *testing.T, r *rig) {
		wrote := time.Now()
		r.publish(1)
		after(5 * time.Second)
		got := r.pods.take()
		if len(got) != 20 || got[19].at.Sub(wrote) > 1500*time.Millisecond {
			t.Errorf("%d nudges, the last after %s", len(got), got[len(got)-1].at.Sub(wrote))
		}
	})
}

// TestTheNewestDocumentOnly: pods that wait get it at once, those that have an older
// one get it again, and nobody gets the older after the newer.
func TestTheNewestDocumentOnly(t *testing.T) {
	withRig(t, newFake(fleet(100)...), 50, func(t *testing.T, r *rig) {
		for n := 1; n <= 3; n++ {
			r.publish(n)
			after(500 * time.Millisecond)
		}
		after(10 * time.Second)
		got, last := r.pods.take(), map[string]string{}
		for _, w := range got {
			if w.doc.Revision <= last[w.pod.name] {
				t.Errorf("%s: %s after %s", w.pod.name, w.doc.Revision, last[w.pod.name])
			}
			last[w.pod.name] = w.doc.Revision
		}
		for name, newest := range last {
			if newest != revision(3) {
				t.Errorf("%s: %s", name, newest)
			}
		}
		if len(last) != 100 || len(got) > 100+2*25 {
			t.Errorf("%d nudges of %d pods", len(got), len(last))
		}
	})
}

// TestQuiet: with nothing new to tell, nothing is written: not when the same is
// published again and again, not when pods are looked at, not by the next process.
func TestQuiet(t *testing.T) {
	pods := newFake(append(fleet(5), newPod("later", started(time.Hour*24*365*100)))...)
	withRig(t, pods, DefaultRate, func(t *testing.T, r *rig) {
		r.publish(1)
		after(time.Minute)
		if got := len(r.pods.take()); got != 5 {
			t.Fatalf("%d nudges, want 5", got)
		}
		for range 100 {
			r.Published(configMap, Document{Revision: revision(1), Written: epoch})
			r.pods.changed(configMap)
			after(time.Minute)
		}
		if got := r.pods.take(); len(got) != 0 {
			t.Errorf("wrote %v", got)
		}
		if got := r.log(); len(got) != 1 {
			t.Errorf("logged %q", got)
		}
	})
	withRig(t, pods, DefaultRate, func(t *testing.T, r *rig) {
		r.publish(1)
		after(time.Minute)
		if got := r.pods.take(); len(got) != 0 {
			t.Errorf("the next process wrote %v", got)
		}
	})
}

// TestTheSameDocumentOnceMore, put right after somebody's edit: who has been nudged to it
// is not again; who started in between is, for it may have read the edit.
func TestTheSameDocumentOnceMore(t *testing.T) {
	withRig(t, newFake(newPod("old"), newPod("between", started(time.Hour))), DefaultRate, func(t *testing.T, r *rig) {
		r.publish(1)
		after(2 * time.Hour)
		if got := r.pods.take(); len(got) != 1 || got[0].pod.name != "old" {
			t.Fatalf("wrote %v", got)
		}
		r.publish(1)
		after(time.Minute)
		if got := r.pods.take(); len(got) != 1 || got[0].pod.name != "between" {
			t.Errorf("wrote %v", got)
		}
	})
}

// TestAPodThatBeginsToRunIsLookedAt, if it was acknowledged before the write.
func TestAPodThatBeginsToRunIsLookedAt(t *testing.T) {
	withRig(t, newFake(newPod("one", phase(corev1.PodPending))), DefaultRate, func(t *testing.T, r *rig) {
		r.publish(1)
		after(time.Minute)
		if got := r.pods.take(); len(got) != 0 {
			t.Fatalf("wrote %v", got)
		}
		r.pods.change("one", phase(corev1.PodRunning))
		r.pods.changed(configMap)
		after(time.Second)
		if got := r.pods.take(); len(got) != 1 {
			t.Errorf("wrote %v", got)
		}
	})
}

// TestAPodIsLookedAtOnceMoreWhenItsTurnComes: by then it may be another of that name,
// or be about to go.
func TestAPodIsLookedAtOnceMoreWhenItsTurnComes(t *testing.T) {
	withRig(t, newFake(fleet(20)...), 1, func(t *testing.T, r *rig) {
		r.publish(1)
		after(headStart + 100*time.Millisecond) // one is out, the others wait
		for i := range 20 {
			how := deleting
			if i%2 == 0 {
				how = func(pod *corev1.Pod) { pod.UID += "-2" }
			}
			r.pods.change(fmt.Sprintf("shop-%04d", i), how)
		}
		after(time.Minute)
		if got := r.pods.take(); len(got) != 1 {
			t.Errorf("wrote %v", got)
		}
	})
}

// TestMapsTakeTurns: one that 2,000 pods mount does not hold up another.
func TestMapsTakeTurns(t *testing.T) {
	other := types.NamespacedName{Namespace: "shop", Name: "other-bulkheads"}
	pods := fleet(2000)
	for i := range 10 {
		pods = append(pods, newPod(fmt.Sprint("other-", i), volume(mapped("", other.Name))))
	}
	withRig(t, newFake(pods...), DefaultRate, func(t *testing.T, r *rig) {
		r.publish(1)
		after(5 * time.Second)
		r.pods.take()
		r.Published(other, Document{Revision: revision(2), Written: time.Now()})
		after(1300 * time.Millisecond)
		var others int
		got := r.pods.take()
		for _, w := range got {
			if w.configMap == other {
				others++
			}
		}
		if others != 10 || len(got)-others < 10 {
			t.Errorf("%d nudges for the other, %d for the large one", others, len(got)-others)
		}
	})
}

// TestALostLeaderStops at once, whatever waits or is on its way.
func TestALostLeaderStops(t *testing.T) {
	pods := newFake(fleet(100)...)
	pods.latency = time.Second
	withRig(t, pods, DefaultRate, func(t *testing.T, r *rig) {
		r.publish(1)
		after(1500 * time.Millisecond)
		r.stop()
		written := len(r.pods.take())
		after(time.Minute)
		if got := len(r.pods.take()); written == 0 || got != 0 {
			t.Errorf("%d nudges before, %d after", written, got)
		}
		if slices.ContainsFunc(r.log(), func(line string) bool { return strings.Contains(line, "context canceled") }) {
			t.Errorf("complains: %q", r.log())
		}
	})
}

// TestNothingIsNudgedBeforeAllPodsAreKnown, and what was published by then is not lost.
func TestNothingIsNudgedBeforeAllPodsAreKnown(t *testing.T) {
	pods := newFake(fleet(3)...)
	pods.sync = time.Hour
	withRig(t, pods, DefaultRate, func(t *testing.T, r *rig) {
		r.publish(1)
		after(time.Minute)
		if got := r.pods.take(); len(got) != 0 {
			t.Fatalf("wrote %v", got)
		}
		after(time.Hour)
		if got := r.pods.take(); len(got) != 3 {
			t.Errorf("wrote %v", got)
		}
	})
}

// TestAnAnswerThatComesLate, of a nudge to an older document, is not taken for one to
// the newer; and no pod is written twice at a time, so that the older cannot win.
func TestAnAnswerThatComesLate(t *testing.T) {
	pods := newFake(newPod("one"))
	pods.latency = 2 * time.Second
	withRig(t, pods, DefaultRate, func(t *testing.T, r *rig) {
		r.publish(1)
		after(time.Second) // the nudge is on its way
		r.publish(2)
		after(time.Minute)
		got := r.pods.take()
		if len(got) != 2 || got[0].doc.Revision != revision(1) || got[1].doc.Revision != revision(2) {
			t.Fatalf("wrote %v", got)
		}
		if got[1].at.Sub(got[0].at) < 2*time.Second {
			t.Errorf("two at a time: %v", got)
		}
	})
}

// TestADocumentThatComesBack while its pod is being nudged away from it: the pod is
// nudged back, though the cache has not heard of the nudge away when that is answered.
func TestADocumentThatComesBack(t *testing.T) {
	pods := newFake(newPod("one"))
	pods.latency, pods.lag = time.Second, 50*time.Millisecond
	withRig(t, pods, DefaultRate, func(t *testing.T, r *rig) {
		var got []string
		for _, n := range []int{1, 2, 1} {
			r.publish(n)
			after(1500 * time.Millisecond / time.Duration(n)) // the second is on its way
		}
		after(time.Minute)
		for _, w := range r.pods.take() {
			got = append(got, w.doc.Revision)
		}
		if want := []string{revision(1), revision(2), revision(1)}; !slices.Equal(got, want) {
			t.Errorf("wrote %v, want %v", got, want)
		}
	})
}

// TestAMapThatComesBack while one of its pods is still being nudged: no pod is written
// twice at a time.
func TestAMapThatComesBack(t *testing.T) {
	pods := newFake(newPod("one"))
	pods.latency = 2 * time.Second
	withRig(t, pods, DefaultRate, func(t *testing.T, r *rig) {
		r.publish(1)
		after(time.Second)
		r.Gone(configMap)
		r.publish(2)
		after(time.Minute)
		got := r.pods.take()
		if len(got) != 2 || got[1].doc.Revision != revision(2) || got[1].at.Sub(got[0].at) < 2*time.Second {
			t.Errorf("wrote %v", got)
		}
	})
}

func TestPodsBySubPathAreToldOnce(t *testing.T) {
	withRig(t, newFake(append(fleet(30, subPath), newPod("whole"))...), DefaultRate, func(t *testing.T, r *rig) {
		for n := range 5 {
			r.publish(n)
			after(time.Minute)
		}
		if got := len(r.pods.take()); got != 5 {
			t.Errorf("%d nudges, want 5 of the one that mounts it whole", got)
		}
		slices.Sort(r.pods.told)
		if got := len(slices.Compact(slices.Clone(r.pods.told))); got != mostTold || len(r.pods.told) != mostTold {
			t.Errorf("told %v", r.pods.told)
		}
		var lines []string
		for _, line := range r.log() {
			if strings.Contains(line, "subPath") {
				lines = append(lines, line)
			}
		}
		if len(lines) != 1 || !strings.Contains(lines[0], "mount it whole") || !strings.Contains(lines[0], `"pods"=30`) {
			t.Errorf("logged %q", lines)
		}
	})
}

func TestAMapThatIsGoneIsForgotten(t *testing.T) {
	withRig(t, newFake(fleet(50)...), DefaultRate, func(t *testing.T, r *rig) {
		r.publish(1)
		after(time.Second)
		r.Gone(configMap)
		after(headStart)
		r.pods.take()
		after(time.Minute)
		if got := r.pods.take(); len(got) != 0 {
			t.Errorf("wrote %v", got)
		}
		if len(r.board.maps)+len(r.board.turns)+len(r.board.busy) != 0 {
			t.Errorf("remembers %v, %v, %v", r.board.maps, r.board.turns, r.board.busy)
		}
	})
}
