// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

// Counts are cumulative. Every call that asked and every task that was submitted
// is in exactly one of Admitted, Cancelled and the five reasons of rejection, as
// soon as its answer is known; nil tasks are not counted.
type Counts struct {
	// Admitted calls got a permit.
	Admitted uint64
	// Saturated, Refused, Draining, Closed and QueueFull were rejected with that
	// error.
	Saturated, Refused, Draining, Closed, QueueFull uint64
	// Cancelled calls had a context that ended before they were admitted.
	Cancelled uint64
	// Shadowed calls are among the admitted: Enforce would have made them wait or
	// refused them.
	Shadowed uint64
	// Waited is how many calls joined the line, and WaitTime for how long together;
	// both count a call when it leaves the line.
	Waited   uint64
	WaitTime time.Duration
	// Lapsed is how many slots were held for the whole reclaim window.
	Lapsed uint64
	// LateReleases came after their slot had lapsed, StaleReleases after the permit
	// was released or forgotten.
	LateReleases, StaleReleases uint64
	// TasksDone is how many tasks have ended, TaskFailures how many of them with an
	// error, observed or not; among those are tasks that got a slot in the very moment
	// when their context ended, and did not start.
	TasksDone, TaskFailures uint64
}

// Rejected is the sum of the five reasons.
func (c Counts) Rejected() uint64 {
	return c.Saturated + c.Refused + c.Draining + c.Closed + c.QueueFull
}

// Asked is how many calls got their answer: admitted, rejected or cancelled.
func (c Counts) Asked() uint64 { return c.Admitted + c.Rejected() + c.Cancelled }

// Add returns the sums of two bulkheads' counts.
func (c Counts) Add(d Counts) Counts { return c.plus(d, 1) }

// Sub returns what was counted since earlier counts of the same bulkhead.
func (c Counts) Sub(earlier Counts) Counts { return c.plus(earlier, -1) }

func (c Counts) plus(d Counts, sign int64) Counts {
	times := uint64(sign) // 1, or what adds up to 0 with it
	return Counts{
		Admitted:  c.Admitted + d.Admitted*times,
		Saturated: c.Saturated + d.Saturated*times, Refused: c.Refused + d.Refused*times,
		Draining: c.Draining + d.Draining*times, Closed: c.Closed + d.Closed*times, QueueFull: c.QueueFull + d.QueueFull*times,
		Cancelled: c.Cancelled + d.Cancelled*times, Shadowed: c.Shadowed + d.Shadowed*times,
		Waited: c.Waited + d.Waited*times, WaitTime: c.WaitTime + d.WaitTime*time.Duration(sign), Lapsed: c.Lapsed + d.Lapsed*times,
		LateReleases: c.LateReleases + d.LateReleases*times, StaleReleases: c.StaleReleases + d.StaleReleases*times,
		TasksDone: c.TasksDone + d.TasksDone*times, TaskFailures: c.TaskFailures + d.TaskFailures*times,
	}
}

// Stats is what a bulkhead says of itself.
type Stats struct {
	// Name, Limit, MaxWait, ReclaimAfter, OnReclaim and Mode are the configuration.
	Name                  string
	Limit                 int
	MaxWait, ReclaimAfter time.Duration
	OnReclaim             OnReclaim
	Mode                  Mode
	// Ended is ErrDraining, ErrClosed or nil.
	Ended error
	// InFlight is how many slots are held, Waiting how many callers stand in line,
	// Overdue how many calls run though their slot has lapsed, and Unlimited how many
	// were admitted without a slot by Shadow or PassThrough.
	InFlight, Waiting, Overdue, Unlimited int
	// Tasks is the queue.
	Tasks TaskStats
	// Counts since the bulkhead was made.
	Counts Counts
}

// TaskStats is the queue of a bulkhead at one instant. The longest wait to expect
// is about Capacity divided by the rate at which Counts.TasksDone grows.
type TaskStats struct {
	// Active tasks run, lapsed or not; Queued ones wait.
	Active, Queued int
	// RemainingActive is how many more the limit has room for if no caller holds a slot,
	// RemainingQueue how many more could be queued.
	RemainingActive, RemainingQueue int
	// Capacity and MaxConcurrency are the configuration; Capacity is 0 without a
	// queue.
	Capacity, MaxConcurrency int
}

// Stats returns the configuration, the present state and the counts. At rest they
// agree exactly; while calls come and go, each is right for a moment of its own.
func (b *Bulkhead) Stats() Stats {
	if b == nil {
		return Stats{Mode: PassThrough}
	}
	b.mu.Lock()
	defer b.unlock()
	b.observe()
	cfg := b.cfg.Load()
	below, above := b.held()
	return Stats{
		Name: b.name, Limit: cfg.limit, MaxWait: cfg.maxWait, ReclaimAfter: cfg.reclaimAfter,
		OnReclaim: cfg.onReclaim, Mode: cfg.mode, Ended: b.ended,
		InFlight: below + above, Waiting: b.line.len - b.tasks.inLine, Overdue: len(b.lapsed.calls), Unlimited: b.extras.len,
		Tasks: b.tasks.stats(cfg, b.queued()), Counts: b.total(),
	}
}

func (t *tasks) stats(cfg *config, queued int) TaskStats {
	return TaskStats{
		Active: t.active, Queued: queued,
		RemainingActive: max(0, cfg.taskShare()-t.holding), RemainingQueue: max(0, cfg.queueCapacity-queued),
		Capacity: cfg.queueCapacity, MaxConcurrency: cfg.maxConcurrency,
	}
}

// observe brings what is about to be reported up to date. b.mu is held.
func (b *Bulkhead) observe() {
	if b.cfg.Load().reclaimAfter == Forever {
		if b.epochs.current.Load().armed() {
			b.endEpoch() // no timer does: so that ages are known from here on
		}
		return
	}
	b.tick(b.now())
}

// total adds up what is counted in different places. Slots count admissions by
// their sequences, stripes the refusals of the fast path. b.mu is held.
func (b *Bulkhead) total() Counts {
	c := b.counts
	c.Admitted = b.extras.started + b.wraps.Load()<<(64-sequenceShift) - b.undone
	for _, s := range b.all {
		c.Admitted += sequenceOf(s.word.Load())
	}
	for i := range b.striped {
		c.Saturated += b.striped[i].refused.Load()
	}
	return c
}

// InFlight is how many slots are held.
func (b *Bulkhead) InFlight() int { return b.Stats().InFlight }

// Limit is how many slots there are; limited is false for a nil bulkhead and in
// the mode PassThrough.
func (b *Bulkhead) Limit() (n int, limited bool) {
	s := b.Stats()
	return s.Limit, s.Mode != PassThrough
}

// Saturated says whether a call that came now would find no free slot.
func (b *Bulkhead) Saturated() bool {
	s := b.Stats()
	return s.Mode == Refuse || s.Mode != PassThrough && s.InFlight >= s.Limit
}

// count books a refusal under its reason. b.mu is held.
func (b *Bulkhead) count(reason error) {
	switch {
	case errors.Is(reason, ErrSaturated):
		b.counts.Saturated++
	case errors.Is(reason, ErrRefused):
		b.counts.Refused++
	case errors.Is(reason, ErrDraining):
		b.counts.Draining++
	case errors.Is(reason, ErrClosed):
		b.counts.Closed++
	case errors.Is(reason, ErrQueueFull):
		b.counts.QueueFull++
	}
}

// list describes the running calls, oldest first. b.mu is held.
func (b *Bulkhead) list(now time.Duration) []Running {
	var running []Running
	for _, c := range b.lapsed.calls {
		running = append(running, Running{Age: now - c.admitted, Lapsed: true})
	}
	for s := b.extras.first; s != nil; s = s.extra.next {
		running = append(running, Running{Age: now - s.extra.admitted})
	}
	for _, s := range b.all {
		if word := s.word.Load(); isHeld(word) {
			running = append(running, Running{Age: now - b.admittedBefore(s, word, now)})
		}
	}
	slices.SortFunc(running, func(x, y Running) int { return cmp.Compare(y.Age, x.Age) })
	return running
}

// admittedBefore is when the call that holds a slot was admitted: exactly if Do or
// Call runs it, and else when its epoch ended. b.mu is held.
func (b *Bulkhead) admittedBefore(s *slot, word uint64, now time.Duration) time.Duration {
	if d := s.details.Load(); d != nil && d.permit.ticket == word {
		return d.admitted
	}
	switch ended, ok := b.endOf(epochOf(word)); {
	case ok:
		return ended
	case epochOf(word) == b.epochs.current.Load().number()&epochMask:
		return now
	}
	oldest := b.epochs.current.Load().number() % rememberedEpochs // its end is overwritten next
	return b.epochs.ended[oldest]
}
