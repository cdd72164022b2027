// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import "sync/atomic"

// gate is the one word that tells the fast paths whether they may go by
// themselves. An acquire looks before it scans and again after its swap; a release
// looks after its swap. Zero flags mean that the slots alone decide.
//
// Who sets a flag sets it, looks at the slots again, and only then acts: a slot
// that was taken or freed before the flag was seen is found by the second look. A
// flag that is set after the only look is the classic lost wake-up.
type gate struct{ atomic.Uint64 }

const (
	// full: two scans found nothing, and no slot was freed during the second.
	// Acquires are refused without a scan; whatever frees a slot clears it.
	full = 1 << iota
	// looking: the second scan is under way. Nobody is refused for it: it may yet
	// find a slot. Whatever frees a slot clears it, too.
	looking
	// waiting: the line is not empty. Nobody overtakes it, and a release serves it.
	waiting
	// debt: after the limit was lowered, slots beyond it are still held. Acquires
	// count, and releases pay it off.
	debt
	// guarded: the mode is not Enforce, or admission has ended. Every call goes by
	// way of the lock.
	guarded

	flags = full | looking | waiting | debt | guarded

	// The bits above the flags are a version: a configuration that was read before
	// it changed is out of date.
	versionStep = flags + 1
)

// lift clears a flag. It looks first: the gate's cache line is everybody's.
func (g *gate) lift(flag uint64) {
	if g.Load()&flag != 0 {
		g.And(^flag)
	}
}

// confirm turns looking into full, unless a slot was freed since.
func (g *gate) confirm() {
	for now := g.Load(); now&looking != 0; now = g.Load() {
		if g.CompareAndSwap(now, now&^looking|full) {
			return
		}
	}
}

// changed says whether a call that was admitted on the word before has to think
// again. That a line has formed or that nothing is free does not concern it: it
// began earlier.
func changed(before, now uint64) bool { return (before^now)&^uint64(full|looking|waiting) != 0 }
