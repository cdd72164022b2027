// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// ErrNotFound means that no bulkhead of that name is known.
var ErrNotFound = errors.New("no such bulkhead")

const (
	// maxUnlisted bounds how many unlisted names get a handle of their own, so that
	// code that makes names up, one per user say, grows neither memory nor metrics.
	maxUnlisted = 256
	// Overflow is the name of the one handle that all further unlisted names share.
	// It cannot be the name of a service.
	Overflow = "(other)"
)

// registry maps services to bulkheads. A bulkhead, once handed out, stays the
// service's for ever; a reload changes it in place.
type registry struct {
	unlisted Unlisted
	hooks    limiter.Hooks
	log      *slog.Logger

	mu       sync.RWMutex
	handles  map[string]*handle
	strays   int // handles of services that are not named
	services map[string]bulkheadconfig.Service
	draining bool
}

type handle struct {
	bulkhead     *limiter.Bulkhead
	drainTimeout *time.Duration
	// listed says that the present document lists the service; named that one does
	// or did, or that the application has defaults for it. before is what had been
	// counted until then.
	listed, named bool
	before        limiter.Counts
}

func newRegistry(s settings) *registry {
	return &registry{unlisted: s.unlisted, hooks: s.hooks, log: s.log, handles: map[string]*handle{}}
}

// bulkhead returns the service's bulkhead, making it if need be.
func (r *registry) bulkhead(name string) *limiter.Bulkhead {
	r.mu.RLock()
	h := r.handles[name]
	r.mu.RUnlock()
	if h != nil {
		return h.bulkhead
	}
	h, overflowed := r.make(name)
	if overflowed {
		r.log.Warn("too many services that no ServiceBulkhead lists: the rest share one bulkhead",
			"service", name, "bound", maxUnlisted)
	}
	return h.bulkhead
}

// make returns the service's handle, made if need be, and says whether it is the
// first that has to share one.
func (r *registry) make(name string) (h *handle, overflowed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, listed := r.services[name]
	if r.handles[name] == nil && !listed && !r.unlisted.has(name) && r.strays >= maxUnlisted {
		overflowed = r.handles[Overflow] == nil
		name = Overflow
	}
	return r.ensure(name), overflowed
}

// ensure returns the service's handle, making it if need be. r.mu is held.
func (r *registry) ensure(name string) *handle {
	if h := r.handles[name]; h != nil {
		return h
	}
	s, listed := r.services[name]
	t := r.terms(name, s, listed)
	b, err := limiter.New(name, t.limit, t.reclaimAfter, t.options...)
	if err != nil {
		panic(err) // both sources of terms are validated before they get here
	}
	if r.draining {
		b.StopAdmission()
	}
	h := &handle{bulkhead: b, drainTimeout: t.drainTimeout, listed: listed, named: listed || r.unlisted.has(name)}
	if !h.named {
		r.strays++
	}
	r.handles[name] = h
	return h
}

// apply puts a document in force: every bulkhead it lists, made or changed in
// place, and the unlisted policy for the others. It cannot fail, because a
// document is decoded and checked as a whole before it gets here.
func (r *registry) apply(doc bulkheadconfig.Document) {
	left, err := r.change(doc)
	r.log.Info("bulkheads configured", "revision", doc.Revision, "services", len(doc.Services))
	if len(left) > 0 {
		r.log.Warn("services left the document: they get what the application's policy for unlisted ones says", "services", left)
	}
	if err != nil {
		r.log.Error("bulkheads left as they were", "error", err)
	}
}

// change returns the services that the document no longer lists.
func (r *registry) change(doc bulkheadconfig.Document) (left []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.services
	r.services = doc.Services
	for name := range doc.Services {
		r.ensure(name)
	}
	var errs []error
	for name, h := range r.handles {
		was, had := before[name]
		now, has := doc.Services[name]
		r.list(h, has)
		if had && !has {
			left = append(left, name)
		}
		if had != has || has && was.Revision() != now.Revision() {
			errs = append(errs, r.configure(name, h))
		}
	}
	slices.Sort(left)
	return left, errors.Join(errs...)
}

// list notes whether the document lists a handle's service. r.mu is held.
func (r *registry) list(h *handle, listed bool) {
	h.listed = listed
	if listed && !h.named {
		h.named, h.before = true, h.bulkhead.Stats().Counts
		r.strays--
	}
}

// configure gives a bulkhead the terms that hold for it now. r.mu is held.
func (r *registry) configure(name string, h *handle) error {
	t := r.terms(name, r.services[name], h.listed)
	h.drainTimeout = t.drainTimeout
	return h.bulkhead.Configure(t.limit, t.reclaimAfter, t.options...)
}

// terms of a service, listed or not.
func (r *registry) terms(name string, s bulkheadconfig.Service, listed bool) terms {
	t := r.unlisted.terms(name)
	if listed {
		t = termsOf(s)
	}
	t.options = append(t.options, limiter.WithHooks(r.hooks))
	return t
}

// Bulkhead returns the service's bulkhead: the same one for a name, for ever,
// listed in the document or not. Keep it or ask again, as is convenient.
//
// The first 256 unlisted names get a bulkhead of their own; further ones share
// the one named Overflow until the document lists them: ask again then.
func (a *Agent) Bulkhead(service string) *limiter.Bulkhead { return a.registry.bulkhead(service) }

// Reset forgets the service's calls in flight (see limiter.Bulkhead.Reset). The
// error is ErrNotFound if nothing has asked for the service and no document
// lists it.
func (a *Agent) Reset(service string) error {
	a.registry.mu.RLock()
	defer a.registry.mu.RUnlock()
	h := a.registry.handles[service]
	if h == nil {
		return fmt.Errorf("reset %q: %w", service, ErrNotFound)
	}
	h.bulkhead.Reset()
	return nil
}

// ResetAll forgets the calls in flight of every service.
func (a *Agent) ResetAll() {
	a.registry.mu.RLock()
	defer a.registry.mu.RUnlock()
	for _, h := range a.registry.handles {
		h.bulkhead.Reset()
	}
}

// Service is one bulkhead as Services reports it.
type Service struct {
	limiter.Stats
	// Listed says whether the current document lists it.
	Listed bool
	// Named says whether it is known by name: the current document or an earlier one
	// lists it, or the application has defaults for it. Before are the counts from
	// before that.
	Named  bool
	Before limiter.Counts
}

// Services reports every bulkhead, sorted by service.
func (a *Agent) Services() []Service {
	a.registry.mu.RLock()
	defer a.registry.mu.RUnlock()
	services := make([]Service, 0, len(a.registry.handles))
	for _, h := range a.registry.handles {
		services = append(services, Service{Stats: h.bulkhead.Stats(), Listed: h.listed, Named: h.named, Before: h.before})
	}
	slices.SortFunc(services, func(x, y Service) int { return cmp.Compare(x.Name, y.Name) })
	return services
}

// busy says what every bulkhead has to do with now.
func (r *registry) busy() map[*limiter.Bulkhead]busy {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make(map[*limiter.Bulkhead]busy, len(r.handles))
	for _, h := range r.handles {
		all[h.bulkhead] = busyNow(h.bulkhead)
	}
	return all
}

// startDraining returns every bulkhead with the drain time-out of its own, if it
// has one, after making sure that later ones are born draining.
func (r *registry) startDraining() map[*limiter.Bulkhead]*time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draining = true
	all := make(map[*limiter.Bulkhead]*time.Duration, len(r.handles))
	for _, h := range r.handles {
		all[h.bulkhead] = h.drainTimeout
	}
	return all
}
