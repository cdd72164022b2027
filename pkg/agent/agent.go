// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// Agent holds a process's bulkheads, by service. All methods are safe for
// concurrent use.
type Agent struct {
	registry *registry
	source   *source
	drain    *drain

	stopWatching context.CancelFunc
	watcher      sync.WaitGroup
}

// New returns an agent that follows the document in dir, where the ConfigMap is
// mounted. A document that is there already is in force when New returns; one
// that is missing or wrong is no error: until the first good one arrives, every
// service gets what WithUnlisted says. The error names the option that is wrong.
//
// The agent runs one goroutine until Shutdown has returned.
func New(dir string, options ...Option) (*Agent, error) {
	s, err := newSettings(dir, options)
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	registry := newRegistry(s)
	a := &Agent{
		registry: registry,
		source:   &source{dir: dir, poll: s.poll, log: s.log, apply: registry.apply},
		drain:    newDrain(registry, s),
	}
	var ctx context.Context
	ctx, a.stopWatching = context.WithCancel(context.Background())
	watch := newWatch(dir, s.log)
	a.source.watched(watch.alive())
	a.source.reload()
	a.watcher.Go(func() { a.source.follow(ctx, watch) })
	return a, nil
}

// settings are what the options set.
type settings struct {
	unlisted        Unlisted
	poll            time.Duration
	lameDuck        time.Duration
	drainTimeout    time.Duration
	closeTimeout    time.Duration
	cancelRemaining bool
	hooks           limiter.Hooks
	log             *slog.Logger
}

// Option is a setting of New that has a default.
type Option func(*settings)

// WithUnlisted sets what a service gets that is not in the document; the default
// is PassThrough().
func WithUnlisted(u Unlisted) Option { return func(s *settings) { s.unlisted = u } }

// WithPollInterval sets how often the directory is read even if nothing announced
// a change; the default is 10 s.
func WithPollInterval(d time.Duration) Option { return func(s *settings) { s.poll = d } }

// WithLameDuck sets for how long Shutdown keeps serving while it reports not
// ready; the default is 3 s. A pod's removal from its Service's endpoints is
// concurrent with SIGTERM, so requests still arrive for about as long.
func WithLameDuck(d time.Duration) Option { return func(s *settings) { s.lameDuck = d } }

// WithDrainTimeout sets how long producers may take to stop and running calls to
// finish, together; the default is 20 s. Producers get three quarters of it at
// most. With the defaults of the other steps it
// fits Kubernetes' default grace period of 30 s.
func WithDrainTimeout(d time.Duration) Option { return func(s *settings) { s.drainTimeout = d } }

// WithCloseTimeout sets how long the dependencies may take to close, together;
// the default is 5 s. With 0 they are told to close, and not waited for.
func WithCloseTimeout(d time.Duration) Option { return func(s *settings) { s.closeTimeout = d } }

// WithCancelRemaining ends the contexts of calls that still run at the drain
// time-out, with limiter.ErrDraining as their cause, and gives them up to a second
// to return. The default leaves them.
func WithCancelRemaining() Option { return func(s *settings) { s.cancelRemaining = true } }

// WithHooks sets what every bulkhead calls when something deserves attention (see
// limiter.Hooks).
func WithHooks(h limiter.Hooks) Option { return func(s *settings) { s.hooks = h } }

// WithLogger sets where the agent logs; the default is slog.Default().
func WithLogger(l *slog.Logger) Option { return func(s *settings) { s.log = l } }

func newSettings(dir string, options []Option) (settings, error) {
	s := settings{
		unlisted: PassThrough(), poll: 10 * time.Second, log: slog.Default(),
		lameDuck: 3 * time.Second, drainTimeout: 20 * time.Second, closeTimeout: 5 * time.Second,
	}
	for _, option := range options {
		option(&s)
	}
	return s, s.validate(dir)
}

func (s settings) validate(dir string) error {
	switch {
	case dir == "":
		return errors.New("directory: required: where the ConfigMap is mounted")
	case s.poll <= 0:
		return fmt.Errorf("poll interval: %v: must be positive", s.poll)
	case s.lameDuck < 0:
		return fmt.Errorf("lame duck: %v: must not be negative", s.lameDuck)
	case s.drainTimeout < 0:
		return fmt.Errorf("drain time-out: %v: must not be negative", s.drainTimeout)
	case s.closeTimeout < 0:
		return fmt.Errorf("close time-out: %v: must not be negative", s.closeTimeout)
	case s.log == nil:
		return errors.New("logger: must not be nil")
	}
	return s.unlisted.validate()
}
