// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// machine drives a bulkhead with random operations under the virtual clock, and
// holds what it does against the rules, after each.
type machine struct {
	b       *Bulkhead
	limit   int
	window  time.Duration
	wait    time.Duration
	running []*modelCall
	ended   []*modelCall
	line    []*modelWaiter
	tasks   []*Future[int]
	finish  chan struct{} // closed when tasks may end
	asked   uint64
	closed  bool
}

type modelCall struct {
	permit Permit
	// since is when its window began; forgotten after a Reset, lapsed under a window
	// that is no longer in force.
	since             time.Time
	forgotten, lapsed bool
}

type modelWaiter struct {
	joined time.Time
	budget time.Duration
	cancel context.CancelFunc
	answer chan modelAnswer
}

type modelAnswer struct {
	permit Permit
	err    error
}

func newMachine(t *rapid.T) *machine {
	m := &machine{finish: make(chan struct{})}
	m.draw(t)
	b, err := New("model", m.limit, m.window, m.options()...)
	if err != nil {
		t.Fatal(err)
	}
	m.b = b
	return m
}

func (m *machine) draw(t *rapid.T) {
	m.limit = rapid.IntRange(0, 5).Draw(t, "limit")
	m.window = rapid.SampledFrom([]time.Duration{time.Millisecond, 100 * time.Millisecond, 3 * time.Second, Forever}).Draw(t, "window")
	m.wait = rapid.SampledFrom([]time.Duration{0, 10 * time.Millisecond, time.Second}).Draw(t, "wait")
}

func (m *machine) options() []Option { return []Option{WithMaxWait(m.wait), WithQueue(3, 2)} }

// Try takes a slot if the rules say that there is one.
func (m *machine) Try(t *rapid.T) {
	m.asked++
	before := m.b.Stats()
	p, ok := m.b.TryAcquire()
	room := !m.closed && before.InFlight < before.Limit && before.Waiting == 0
	if ok != room {
		t.Fatalf("try: %t with %d in flight at a limit of %d, %d waiting", ok, before.InFlight, before.Limit, before.Waiting)
	}
	if ok {
		m.running = append(m.running, &modelCall{permit: p, since: time.Now()})
	}
}

// Acquire starts a call that may wait.
func (m *machine) Acquire(*rapid.T) {
	m.asked++
	ctx, cancel := context.WithCancel(context.Background())
	w := &modelWaiter{joined: time.Now(), budget: m.wait, cancel: cancel, answer: make(chan modelAnswer, 1)}
	m.line = append(m.line, w)
	go func() {
		p, err := m.b.Acquire(ctx)
		w.answer <- modelAnswer{p, err}
	}()
}

// Submit queues a task that ends when all tasks do.
func (m *machine) Submit(*rapid.T) {
	m.asked++
	finish := m.finish
	m.tasks = append(m.tasks, NewReducer[int](m.b).Submit(context.Background(), func(ctx context.Context) (int, error) {
		select {
		case <-finish:
		case <-ctx.Done():
		}
		return 1, nil
	}))
}

// FinishTasks lets every task end.
func (m *machine) FinishTasks(t *rapid.T) {
	finish := m.finish
	m.finish = make(chan struct{})
	close(finish)
	synctest.Wait()
	if n := m.b.Stats().Tasks.Active; n > 0 {
		t.Fatalf("%d tasks still run", n)
	}
}

// CancelTask cancels one of the tasks.
func (m *machine) CancelTask(t *rapid.T) {
	if len(m.tasks) > 0 {
		rapid.SampledFrom(m.tasks).Draw(t, "task").Cancel()
	}
}

// Release ends one of the calls, and checks the outcome against its window.
func (m *machine) Release(t *rapid.T) {
	if len(m.running) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.running)-1).Draw(t, "call")
	c := m.running[i]
	m.running = append(m.running[:i], m.running[i+1:]...)
	m.ended = append(m.ended, c)
	age, got := time.Since(c.since), c.permit.Release()
	switch {
	case c.forgotten:
		expectOutcome(t, got, Stale)
	case c.lapsed:
		expectOutcome(t, got, Late)
	case m.window == Forever || age < m.window:
		expectOutcome(t, got, Released)
	case age > longest(m.window):
		expectOutcome(t, got, Late)
	case got == Stale:
		t.Fatalf("stale, at an age of %v and a window of %v", age, m.window)
	}
}

// ReleaseAgain does nothing, ever.
func (m *machine) ReleaseAgain(t *rapid.T) {
	if len(m.ended) > 0 {
		expectOutcome(t, rapid.SampledFrom(m.ended).Draw(t, "call").permit.Release(), Stale)
	}
}

func expectOutcome(t *rapid.T, got, want Outcome) {
	if got != want {
		t.Fatalf("release: %v, want %v", got, want)
	}
}

// Sleep lets time pass: slots lapse and budgets end.
func (m *machine) Sleep(t *rapid.T) {
	time.Sleep(time.Duration(rapid.Int64Range(1, int64(2*time.Second)).Draw(t, "sleep")))
}

// Cancel ends the context of a waiting call.
func (m *machine) Cancel(t *rapid.T) {
	if len(m.line) > 0 {
		rapid.SampledFrom(m.line).Draw(t, "waiter").cancel()
	}
}

// Configure changes everything.
func (m *machine) Configure(t *rapid.T) {
	window := m.window
	m.draw(t)
	if err := m.b.Configure(m.limit, m.window, m.options()...); err != nil {
		t.Fatal(err)
	}
	if m.window != window {
		m.restart(t, window)
	}
}

// restart starts the windows anew of the calls that have not lapsed under the old
// one. Within the tolerance it is the bulkhead that knows.
func (m *machine) restart(t *rapid.T, window time.Duration) {
	for _, c := range m.running {
		if gone := c.permit.slot.word.Load() != c.permit.ticket; gone && !c.lapsed && !c.forgotten {
			c.lapsed = true
			if window == Forever || time.Since(c.since) < window {
				t.Fatalf("lapsed at an age of %v under a window of %v", time.Since(c.since), window)
			}
		}
		c.since = time.Now()
	}
}

// Reset forgets everybody.
func (m *machine) Reset(*rapid.T) {
	m.b.Reset()
	for _, c := range m.running {
		c.forgotten = true
	}
}

// Close ends admission. It is rare, because little happens after it.
func (m *machine) Close(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
		m.b.Close()
		m.closed = true
	}
}

// Check holds the bulkhead against the rules at a quiet point.
func (m *machine) Check(t *rapid.T) {
	synctest.Wait()
	m.collect(t)
	m.b.Stats() // which looks for lapses, and may have served the line
	synctest.Wait()
	m.collect(t)
	s := m.b.Stats()
	if s.InFlight < 0 || s.Waiting != len(m.line) {
		t.Fatalf("in flight %d, waiting %d; %d have no answer", s.InFlight, s.Waiting, len(m.line))
	}
	if s.Waiting > 0 && s.InFlight < s.Limit {
		t.Fatalf("%d wait with %d in flight at a limit of %d", s.Waiting, s.InFlight, s.Limit)
	}
	if s.Tasks.Queued > 0 && s.Waiting == 0 && s.InFlight < s.Limit && s.Tasks.RemainingActive > 0 {
		t.Fatalf("%d tasks queued with room: %+v", s.Tasks.Queued, s)
	}
	if s.Tasks.Queued > s.Tasks.Capacity {
		t.Fatalf("%d tasks queued, capacity %d", s.Tasks.Queued, s.Tasks.Capacity)
	}
	if pending := uint64(len(m.line) + s.Tasks.Queued); s.Counts.Asked()+pending != m.asked {
		t.Fatalf("%d answers and %d pending of %d: %+v", s.Counts.Asked(), pending, m.asked, s.Counts)
	}
	m.b.mu.Lock()
	defer m.b.mu.Unlock()
	if flag := m.b.gate.Load() & waiting; (flag != 0) != (len(m.line)+m.b.tasks.inLine > 0) {
		t.Fatalf("waiting flag %d with %d callers and %d tasks in line", flag, len(m.line), m.b.tasks.inLine)
	}
}

// collect takes the answers that waiting calls got. They come in the order of the
// line, except for those that went away.
func (m *machine) collect(t *rapid.T) {
	var left []*modelWaiter
	for _, w := range m.line {
		select {
		case a := <-w.answer:
			w.cancel()
			m.judge(t, w, a, left)
		default:
			left = append(left, w)
		}
	}
	m.line = left
}

func (m *machine) judge(t *rapid.T, w *modelWaiter, a modelAnswer, ahead []*modelWaiter) {
	waited := time.Since(w.joined)
	switch {
	case a.err == nil:
		for _, earlier := range ahead {
			if earlier.joined.Before(w.joined) {
				t.Fatalf("admitted before a call that waits since %v earlier", w.joined.Sub(earlier.joined))
			}
		}
		m.running = append(m.running, &modelCall{permit: a.permit, since: m.admittedAt(a.permit)})
	case errors.Is(a.err, ErrSaturated) && waited < w.budget:
		t.Fatalf("refused after %v of a budget of %v", waited, w.budget)
	}
}

// admittedAt is when a waiting call was admitted, which only the bulkhead knows:
// in the epoch of its stamp.
func (m *machine) admittedAt(p Permit) time.Time {
	m.b.mu.Lock()
	defer m.b.mu.Unlock()
	if at, ok := m.b.endOf(epochOf(p.ticket)); ok {
		return m.b.base.Add(at)
	}
	return time.Now()
}

func (m *machine) end() {
	m.b.Close()
	close(m.finish)
	for _, w := range m.line {
		w.cancel()
	}
	synctest.Wait()
}

// TestRules lets operations meet in random orders, and holds the rules against each.
// More of them: go test -run TestRules ./limiter -rapid.checks=100000
func TestRules(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { rules(t, rt) })
}

// FuzzRules is the same for a fuzzer, which looks for orders that reach new code:
// go test -fuzz FuzzRules ./limiter
func FuzzRules(f *testing.F) {
	f.Fuzz(func(t *testing.T, input []byte) {
		rapid.MakeFuzz(func(rt *rapid.T) { rules(t, rt) })(t, input)
	})
}

func rules(t *testing.T, rt *rapid.T) {
	var failure any
	synctest.Test(t, func(*testing.T) {
		defer func() { failure = recover() }()
		m := newMachine(rt)
		defer m.end()
		rt.Repeat(map[string]func(*rapid.T){
			"try": m.Try, "acquire": m.Acquire, "release": m.Release, "release again": m.ReleaseAgain,
			"submit": m.Submit, "finish tasks": m.FinishTasks, "cancel task": m.CancelTask,
			"sleep": m.Sleep, "cancel": m.Cancel, "configure": m.Configure, "reset": m.Reset,
			"close": m.Close, "": m.Check,
		})
	})
	if failure != nil {
		panic(failure) // out of the bubble, where rapid waits for it
	}
}
