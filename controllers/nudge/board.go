// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// board keeps of each ConfigMap which document its pods should have, and how far that
// has come. The ConfigMaps take turns: of one that many pods mount, no other waits
// longer than it takes to nudge a pod for each.
type board struct {
	mu    sync.Mutex
	maps  map[types.NamespacedName]*rollout
	turns []types.NamespacedName // with pods waiting
	busy  map[flight]bool        // perhaps to an older document
}

// rollout is one document on its way. Times that are zero are never.
type rollout struct {
	doc     Document
	begin   time.Time // no pod is nudged before
	until   time.Time // nothing is tried again after
	look    time.Time // when to look at the pods
	begun   bool      // pods have been found to be nudged
	waiting []target  // in the order of their turns
	tries   map[types.UID]try
	told    map[types.UID]bool // pods that mount the ConfigMap by subPath
}

// target is a pod, and no other of its name.
type target struct {
	name string
	uid  types.UID
}

// try is what came of nudging a pod to the present document.
type try struct {
	over     bool // nudged, or given up
	failures int
	again    time.Time
}

// flight is what no more than one nudge at a time is about: of two, the older might
// come last.
type flight struct {
	configMap types.NamespacedName
	pod       types.UID
}

// job is one nudge.
type job struct {
	configMap types.NamespacedName
	doc       Document
	pod       target
}

func (j job) flight() flight { return flight{j.configMap, j.pod.uid} }

func newBoard() *board {
	return &board{maps: map[types.NamespacedName]*rollout{}, busy: map[flight]bool{}}
}

// publish notes what a ConfigMap holds. What was waiting for an older document waits
// no more; who is to follow the new one is for the next look to say.
func (b *board) publish(configMap types.NamespacedName, d Document, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, known := b.maps[configMap]
	switch {
	case known && r.doc.Revision == d.Revision:
		if d.Written.After(r.doc.Written) { // put right in between: some may have started with something else
			r.doc = d
			r.lookAt(now.Add(gather))
		}
		return
	case !known:
		r = &rollout{}
		b.maps[configMap] = r
	}
	r.doc, r.begun, r.waiting, r.tries = d, false, nil, map[types.UID]try{}
	r.begin, r.until = now.Add(headStart), now.Add(patience)
	r.look = r.begin
}

// forget drops a ConfigMap that holds no document any more.
func (b *board) forget(configMap types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.maps, configMap)
}

// touch has the pods of a ConfigMap looked at soon: some of them have changed.
func (b *board) touch(configMap types.NamespacedName, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r, known := b.maps[configMap]; known {
		r.lookAt(now.Add(gather))
	}
}

// lookAt keeps the earlier of two times, and none before the document's first.
func (r *rollout) lookAt(at time.Time) {
	if at.Before(r.begin) {
		at = r.begin
	}
	if r.look.IsZero() || at.Before(r.look) {
		r.look = at
	}
}

// due returns the documents whose pods are to be looked at now, and counts on that.
func (b *board) due(now time.Time) map[types.NamespacedName]Document {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := map[types.NamespacedName]Document{}
	for configMap, r := range b.maps {
		if !r.look.IsZero() && !r.look.After(now) {
			r.look = time.Time{}
			found[configMap] = r.doc
		}
	}
	return found
}

// offer says which pods a look has found to be nudged, in the order in which to do
// it. It returns how many of them wait now, and whether they are the document's first.
// Those do not wait that are being nudged, that were a moment ago (the cache is yet to
// learn of it), or that failed and are left alone for a while.
func (b *board) offer(configMap types.NamespacedName, d Document, pods []target, now time.Time) (waiting int, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, known := b.maps[configMap]
	if !known || r.doc.Revision != d.Revision {
		return 0, false // published meanwhile, so there will be another look
	}
	r.waiting = slices.DeleteFunc(pods, func(pod target) bool {
		return b.busy[flight{configMap, pod.uid}] || !r.ready(pod, now)
	})
	if len(r.waiting) == 0 {
		return 0, false
	}
	if !slices.Contains(b.turns, configMap) {
		b.turns = append(b.turns, configMap)
	}
	first, r.begun = !r.begun, true
	return len(r.waiting), first
}

func (r *rollout) ready(pod target, now time.Time) bool {
	t := r.tries[pod.uid]
	if !t.over && t.again.After(now) {
		r.lookAt(t.again)
	}
	return !t.over && !t.again.After(now)
}

// untold says which of the pods that mount a ConfigMap by subPath are to be told of it,
// and counts on that; first, that none had been before.
func (b *board) untold(configMap types.NamespacedName, stuck []target) (fresh []target, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, known := b.maps[configMap]
	if !known {
		return nil, false
	}
	before := r.told
	r.told = map[types.UID]bool{} // of pods that are no more nothing is kept
	for _, pod := range stuck {
		if before[pod.uid] {
			r.told[pod.uid] = true
		}
	}
	for _, pod := range stuck {
		if !r.told[pod.uid] && len(r.told) < mostTold {
			r.told[pod.uid] = true
			fresh = append(fresh, pod)
		}
	}
	return fresh, len(before) == 0 && len(fresh) > 0
}

// take returns the next nudge. Whoever takes it says by settle what came of it.
func (b *board) take() (job, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.turns) > 0 {
		configMap := b.turns[0]
		b.turns = b.turns[1:]
		r, known := b.maps[configMap]
		if !known || len(r.waiting) == 0 {
			continue
		}
		j := job{configMap: configMap, doc: r.doc, pod: r.waiting[0]}
		if r.waiting = r.waiting[1:]; len(r.waiting) > 0 {
			b.turns = append(b.turns, configMap)
		}
		b.busy[j.flight()] = true
		return j, true
	}
	return job{}, false
}

// settle notes what came of a nudge.
func (b *board) settle(j job, what result, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.busy, j.flight())
	r, known := b.maps[j.configMap]
	if !known {
		return
	}
	t := r.tries[j.pod.uid]
	switch {
	case r.doc.Revision != j.doc.Revision:
		r.lookAt(now.Add(gather)) // as likely as not it has the older one, which the cache is yet to learn
		return
	case what == skipped || what == gone:
		return
	case what == sent:
		t.over = true
	default:
		t.failures++
		// In whole seconds, so that the pods are looked at once for many failures.
		t.again = now.Add(backoff(t.failures) + time.Second).Truncate(time.Second)
		t.over = t.again.After(r.until)
		r.lookAt(t.again)
	}
	r.tries[j.pod.uid] = t
}

// next is when there is something to do: pods to be looked at, or to be nudged when
// the slot for that has come. It is zero when there is nothing.
func (b *board) next(slot time.Time) (at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for r := range maps.Values(b.maps) {
		if !r.look.IsZero() && (at.IsZero() || r.look.Before(at)) {
			at = r.look
		}
	}
	if len(b.turns) > 0 && (at.IsZero() || slot.Before(at)) {
		at = slot
	}
	return at
}

// document returns what a ConfigMap holds.
func (b *board) document(configMap types.NamespacedName) (Document, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, known := b.maps[configMap]
	if !known {
		return Document{}, false
	}
	return r.doc, true
}
