// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
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
	strays   int // handles that the present document does not list
	services map[string]bulkheadconfig.Service
	draining bool
}

type handle struct {
	bulkhead *limiter.Bulkhead
	listed   bool
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
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ensure(name).bulkhead
}

// ensure returns the service's handle, making it if need be. r.mu is held.
func (r *registry) ensure(name string) *handle {
	s, listed := r.services[name]
	if h := r.handles[name]; h != nil {
		return h
	}
	if !listed && r.strays >= maxUnlisted && name != Overflow {
		return r.overflow(name)
	}
	if !listed {
		r.strays++
	}
	t := r.terms(name, s, listed)
	b, err := limiter.New(name, t.limit, t.reclaimAfter, t.options...)
	if err != nil {
		panic(err) // both sources of terms are validated before they get here
	}
	if r.draining {
		b.StopAdmission()
	}
	h := &handle{bulkhead: b, listed: listed}
	r.handles[name] = h
	return h
}

// overflow returns the handle that names beyond the bound share. r.mu is held.
func (r *registry) overflow(name string) *handle {
	if r.handles[Overflow] == nil {
		r.log.Warn("too many services that no ServiceBulkhead lists: the rest share one bulkhead",
			"service", name, "bound", maxUnlisted)
	}
	return r.ensure(Overflow)
}

// apply puts a document in force: every bulkhead it lists, made or changed in
// place, and the unlisted policy for the others. It cannot fail, because a
// document is decoded and checked as a whole before it gets here.
func (r *registry) apply(doc bulkheadconfig.Document) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.services
	r.services = doc.Services
	for name := range doc.Services {
		r.ensure(name)
	}
	r.strays = 0
	for name, h := range r.handles {
		var now bulkheadconfig.Service
		if now, h.listed = doc.Services[name]; !h.listed {
			r.strays++
		}
		if was, had := before[name]; had == h.listed && (!had || was.Revision() == now.Revision()) {
			continue
		}
		r.configure(name, h)
	}
	r.log.Info("bulkheads configured", "revision", doc.Revision, "services", len(doc.Services))
}

// configure gives a bulkhead the terms that hold for it now. r.mu is held.
func (r *registry) configure(name string, h *handle) {
	t := r.terms(name, r.services[name], h.listed)
	if err := h.bulkhead.Configure(t.limit, t.reclaimAfter, t.options...); err != nil {
		r.log.Error("bulkhead left as it was", "service", name, "error", err)
	}
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
}

// Services reports every bulkhead, sorted by service.
func (a *Agent) Services() []Service {
	a.registry.mu.RLock()
	defer a.registry.mu.RUnlock()
	services := make([]Service, 0, len(a.registry.handles))
	for _, h := range a.registry.handles {
		services = append(services, Service{Stats: h.bulkhead.Stats(), Listed: h.listed})
	}
	slices.SortFunc(services, func(x, y Service) int { return cmp.Compare(x.Name, y.Name) })
	return services
}

// busy says what every bulkhead has to do with now.
func (r *registry) busy() map[*limiter.Bulkhead]busy {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make(map[*limiter.Bulkhead]busy, len(r.handles))
	for h := range maps.Values(r.handles) {
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
	for h := range maps.Values(r.handles) {
		all[h.bulkhead] = r.services[h.bulkhead.Name()].DrainTimeout
	}
	return all
}
