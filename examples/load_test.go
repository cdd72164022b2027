// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// rate is how many requests a load sends in a second.
const rate = 500

// load sends requests at a fixed rate, however long the answers take and whatever
// they say.
type load struct {
	stop     context.CancelFunc
	stopped  chan struct{}
	requests sync.WaitGroup
	began    time.Time
	took     time.Duration

	sent, answered, failed atomic.Int64

	mu  sync.Mutex
	err error // of the first that failed
}

// startLoad starts a load, which ends with the test if not before.
func startLoad(t *testing.T, request func(context.Context) error) *load {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &load{stop: stop, stopped: make(chan struct{}), began: time.Now()}
	go l.run(ctx, func() { l.note(request(t.Context())) })
	t.Cleanup(func() { l.end(); l.requests.Wait() })
	return l
}

func (l *load) run(ctx context.Context, one func()) {
	defer close(l.stopped)
	ticker := time.NewTicker(time.Second / rate)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C: // one that comes late brings what it owes
			for due := int64(time.Since(l.began) * rate / time.Second); l.sent.Load() < due; l.sent.Add(1) {
				l.requests.Go(one)
			}
		case <-ctx.Done():
			l.took = time.Since(l.began)
			return
		}
	}
}

func (l *load) note(err error) {
	l.answered.Add(1)
	if err == nil {
		return
	}
	l.failed.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
}

// end sends no more.
func (l *load) end() {
	l.stop()
	<-l.stopped
}

// await waits for so many answers more.
func (l *load) await(t *testing.T, n int64) {
	t.Helper()
	until := l.answered.Load() + n
	eventually(t, "enough answers", func() bool { return l.answered.Load() >= until })
}

func (l *load) firstError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
