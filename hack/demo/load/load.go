// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// Load is a number of clients. Its methods may be called from several goroutines
// at once, Start and Stop by one.
type Load struct {
	url     string
	clients int
	think   time.Duration
	client  *http.Client

	stop    context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	window Window
	total  Counts
}

// New returns clients that are not started yet. After each answer a client thinks
// for think on average.
func New(url string, clients int, think time.Duration) *Load {
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	return &Load{
		url: url, clients: clients, think: think, stop: func() {},
		client: &http.Client{Transport: transport, Timeout: AnswerTimeout},
	}
}

// Clients is how many there are.
func (l *Load) Clients() int { return l.clients }

// Start starts the clients. They must be stopped.
func (l *Load) Start() {
	var ctx context.Context
	ctx, l.stop = context.WithCancel(context.Background())
	for range l.clients {
		l.running.Go(func() { l.run(ctx) })
	}
}

// Stop stops the clients, each after its present answer, and returns when all
// have it. Stopped clients can be started again.
func (l *Load) Stop() {
	l.stop()
	l.running.Wait()
	l.client.CloseIdleConnections()
}

// run is one client: it thinks, asks and notes the answer.
func (l *Load) run(ctx context.Context) {
	for {
		// From half to one and a half: clients that think in step would come as one.
		thinking := time.NewTimer(l.think/2 + rand.N(l.think+1))
		select {
		case <-thinking.C:
			l.note(l.ask())
		case <-ctx.Done():
			thinking.Stop()
			return
		}
	}
}

func (l *Load) ask() Answer { return Ask(l.client, http.MethodGet, l.url) }

func (l *Load) note(a Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.window = l.window.With(a)
	l.total = l.total.Plus(One(a.Outcome))
}

// Take returns what was answered since the last Take or the first Start.
func (l *Load) Take() Window {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.window
	l.window = Window{}
	return w
}

// Total counts every answer since the first Start.
func (l *Load) Total() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}
