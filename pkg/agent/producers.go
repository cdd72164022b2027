// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// producers are what brings work into the process.
type producers struct {
	log *slog.Logger
	// grace is how long one that is registered too late may take to stop.
	grace time.Duration

	mu      sync.Mutex
	list    []*producer
	stopped bool
}

type producer struct {
	name string
	stop func(context.Context) error
}

// add registers a producer. Once the others have been told to stop, it is told at
// once, in a goroutine of its own.
func (p *producers) add(one *producer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		p.list = append(p.list, one)
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), p.grace)
		defer cancel()
		if err := one.run(ctx); err != nil {
			p.log.Error("producer that was registered during the drain", "error", err)
		}
	}()
}

// stop stops all of them at once and waits for them or the context. The error
// names those that failed and those that did not stop in time.
func (p *producers) stop(ctx context.Context) error {
	p.mu.Lock()
	p.stopped = true
	list := p.list
	p.mu.Unlock()
	type result struct {
		producer *producer
		err      error
	}
	results := make(chan result, len(list))
	for _, one := range list {
		go func() { results <- result{one, one.run(ctx)} }()
	}
	var errs []error
	waiting := slices.Clone(list)
	for len(waiting) > 0 {
		select {
		case r := <-results:
			waiting = slices.DeleteFunc(waiting, func(one *producer) bool { return one == r.producer })
			errs = append(errs, r.err)
		case <-ctx.Done():
			return errors.Join(append(errs, fmt.Errorf("stop %s: not stopped in time: %w", names(waiting), context.Cause(ctx)))...)
		}
	}
	return errors.Join(errs...)
}

func names(list []*producer) string {
	all := make([]string, len(list))
	for i, one := range list {
		all[i] = one.name
	}
	return strings.Join(all, ", ")
}

// run stops one producer.
func (p *producer) run(ctx context.Context) error {
	if err := <-safely(func() error { return p.stop(ctx) }); err != nil {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	return nil
}
