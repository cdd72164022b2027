// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// attempt is one operation of a history: a try, a waiting acquire or a release.
type attempt struct {
	kind string
	// excused: a refusal that overlaps a release. One lap is not a snapshot, so it
	// may miss a slot that was free all the time, though never the same one.
	excused bool
}

// semaphore is what a bulkhead has to look like from outside: its state is how many
// slots are held.
func semaphore(limit int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return 0 },
		Step: func(state, input, output any) (bool, any) {
			held := state.(int)       //nolint:errcheck // as Init made it
			in := input.(attempt)     //nolint:errcheck // as recorded
			admitted := output.(bool) //nolint:errcheck // as recorded
			switch {
			case in.kind == "release":
				return held > 0, held - 1
			case admitted:
				return held < limit, held + 1
			case in.kind == "try":
				return held == limit || in.excused, held
			default: // a refusal after a wait may come at any time: its budget was spent
				return true, held
			}
		},
	}
}

// Histories of concurrent calls have an order in which one caller after the other
// would have seen the same.
func TestHistoriesAreLinearizable(t *testing.T) {
	const limit, callers, operations = 3, 6, 20
	for range 200 {
		b := mustNew(t, limit, time.Hour, WithMaxWait(time.Millisecond))
		h := &history{begin: time.Now()}
		var all sync.WaitGroup
		for caller := range callers {
			all.Go(func() { h.record(t, b, caller, operations) })
		}
		all.Wait()
		if !porcupine.CheckOperations(semaphore(limit), h.excuse()) {
			t.Fatal("no order of the calls explains their answers")
		}
	}
}

type history struct {
	begin      time.Time
	mu         sync.Mutex
	operations []porcupine.Operation
}

func (h *history) record(t *testing.T, b *Bulkhead, caller, operations int) {
	var held []Permit
	for range operations {
		switch kind := rand.IntN(3); {
		case kind == 0:
			h.note(caller, "try", func() (ok bool) {
				p, ok := b.TryAcquire()
				held = keep(held, p, ok)
				return ok
			})
		case kind == 1 && len(held) == 0: // who holds a slot does not wait for another
			h.note(caller, "acquire", func() bool {
				p, err := b.Acquire(t.Context())
				held = keep(held, p, err == nil)
				return err == nil
			})
		case len(held) > 0:
			h.note(caller, "release", func() bool { return held[0].Release() == Released })
			held = held[1:]
		}
		runtime.Gosched()
	}
	for _, p := range held {
		h.note(caller, "release", func() bool { return p.Release() == Released })
	}
}

func keep(held []Permit, p Permit, ok bool) []Permit {
	if ok {
		return append(held, p)
	}
	return held
}

func (h *history) note(caller int, kind string, do func() bool) {
	call := time.Since(h.begin)
	output := do()
	back := time.Since(h.begin)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, porcupine.Operation{
		ClientId: caller, Input: attempt{kind: kind}, Call: int64(call), Output: output, Return: int64(back),
	})
}

// excuse marks the refusals that overlap a release.
func (h *history) excuse() []porcupine.Operation {
	for i := range h.operations {
		o := &h.operations[i]
		in := o.Input.(attempt) //nolint:errcheck // as recorded
		for _, other := range h.operations {
			release := other.Input.(attempt).kind == "release" //nolint:errcheck // as recorded
			in.excused = in.excused || release && other.Call <= o.Return && o.Call <= other.Return
		}
		o.Input = in
	}
	return h.operations
}
