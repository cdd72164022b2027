// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"sync/atomic"
	"time"
	"unsafe"
)

// A slot's word says everything about it in 64 bits:
//
//	63 …  26 │ 25 …  1 │ 0
//	sequence │  epoch  │ held
//
// The sequence counts the slot's acquisitions, so that the word of a held slot,
// its ticket, does not repeat within 2³⁸ of them. The epoch says when it was
// acquired (see epochs). A free slot keeps both: they are its past.
const (
	heldBit       = 1
	epochShift    = 1
	epochBits     = 25
	sequenceShift = epochShift + epochBits
	epochMask     = 1<<epochBits - 1
)

func isHeld(word uint64) bool       { return word&heldBit != 0 }
func freed(ticket uint64) uint64    { return ticket &^ heldBit }
func epochOf(word uint64) uint64    { return word >> epochShift & epochMask }
func sequenceOf(word uint64) uint64 { return word >> sequenceShift }
func stamped(word, epoch uint64) uint64 {
	return word&^(epochMask<<epochShift) | epoch&epochMask<<epochShift
}

// nextTicket is the ticket of whoever takes the free slot with that word. The
// sequence is the topmost field: when it wraps, the carry leaves the word.
func nextTicket(word, epoch uint64) uint64 {
	return stamped(word+1<<sequenceShift, epoch) | heldBit
}

// slot is room for one call in flight. Its word is the only thing that changes
// hands; a slot never moves, and permits point to it.
//
// It fills a cache line (of a 64-bit machine), so that neighbours do not slow each other down.
type slot struct {
	word atomic.Uint64
	// details of the call that holds it, for calls that Do and Call run.
	details atomic.Pointer[details]
	owner   *Bulkhead
	// index in the bulkhead's slots; noIndex for a call that was admitted without
	// a slot, which has one all the same, to hold its ticket.
	index int
	extra *extra
	_     [cacheLineSize - 5*8]byte
}

const noIndex = -1

const cacheLineSize = 64

// cacheLine keeps what stands before it and behind it apart.
type cacheLine [cacheLineSize]byte

// details are what a bare permit does without: no clock is read for it, and it
// has no context.
type details struct {
	callContext
	permit   Permit
	admitted time.Duration
	// task says that a task runs, not a caller.
	task bool
	// over says that End was called, for calls that Begin started.
	over atomic.Bool
}

// stripe is where one caller, or a few, remember things without meeting others.
type stripe struct {
	// hint is where the caller last released a slot: its next scan starts there, so
	// that callers keep to slots of their own as long as there are enough.
	hint atomic.Uint32
	// refused counts refusals on the fast path.
	refused atomic.Uint64
	_       [cacheLineSize - 16]byte
}

const stripes = 32

// stripe tells callers apart by the address of their stack, which costs nothing
// and need not be exact. Stacks are at least 2 KiB apart.
func (b *Bulkhead) stripe() *stripe {
	var here byte
	address := uint64(uintptr(unsafe.Pointer(&here)))
	return &b.striped[address>>11*0x9E3779B97F4A7C15>>(64-5)]
}

// scan takes the first free slot it meets on one lap that starts at the caller's
// hint. It looks before it swaps. A lap is not a snapshot: while others release,
// it may miss a slot that was free at every moment of it.
func (b *Bulkhead) scan(cfg *config, start int) (Permit, bool) {
	slots := cfg.slots
	if start >= len(slots) {
		if len(slots) == 0 {
			return Permit{}, false
		}
		start %= len(slots)
	}
	for i := start; ; {
		s := slots[i]
		if word := s.word.Load(); !isHeld(word) {
			if ticket, ok := b.claim(s, word); ok {
				return Permit{s, ticket}, true
			}
		}
		if i++; i == len(slots) {
			i = 0
		}
		if i == start {
			return Permit{}, false
		}
	}
}

// claim takes a slot whose word, a moment ago, said that it was free.
func (b *Bulkhead) claim(s *slot, word uint64) (ticket uint64, ok bool) {
	return b.claimIn(b.epochs.current.Load(), s, word)
}

func (b *Bulkhead) claimIn(epoch epoch, s *slot, word uint64) (ticket uint64, ok bool) {
	ticket = nextTicket(word, epoch.number())
	if !s.word.CompareAndSwap(word, ticket) {
		return 0, false
	}
	if sequenceOf(ticket) == 0 {
		b.wraps.Add(1)
	}
	// Read the epoch again: a caller that paused between reading and swapping has
	// stamped its slot with the past, from which it would lapse too early.
	if again := b.epochs.current.Load(); again == epoch && again.armed() {
		return ticket, true
	}
	return b.stamp(s, ticket)
}
