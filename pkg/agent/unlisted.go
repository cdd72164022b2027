// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"maps"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// Unlisted says what a service gets that is not in the current document, before
// the first document and after.
type Unlisted struct {
	refuse   bool
	defaults map[string]bulkheadconfig.Service
}

// PassThrough lets calls to unlisted services through, without a limit.
func PassThrough() Unlisted { return Unlisted{} }

// Refuse refuses calls to unlisted services, with limiter.ErrRefused.
func Refuse() Unlisted { return Unlisted{refuse: true} }

// Defaults gives unlisted services the bulkheads that are compiled into the
// application; a service that is not among them either is let through.
func Defaults(services map[string]bulkheadconfig.Service) Unlisted {
	return Unlisted{defaults: maps.Clone(services)}
}

func (u Unlisted) validate() error {
	if _, err := bulkheadconfig.Encode(u.defaults); err != nil {
		return fmt.Errorf("defaults: %w", err)
	}
	return nil
}

// has says whether the application brings a bulkhead for the service.
func (u Unlisted) has(name string) bool {
	_, ok := u.defaults[name]
	return ok
}

// terms are what limiter.New and Configure take.
type terms struct {
	limit        int
	reclaimAfter time.Duration
	options      []limiter.Option
	// drainTimeout is the service's own; nil if it has none.
	drainTimeout *time.Duration
}

// terms of a service that the document does not list.
func (u Unlisted) terms(name string) terms {
	if s, ok := u.defaults[name]; ok {
		return termsOf(s)
	}
	mode := limiter.PassThrough
	if u.refuse {
		mode = limiter.Refuse
	}
	return terms{reclaimAfter: limiter.Forever, options: []limiter.Option{limiter.WithMode(mode)}}
}

// termsOf an entry of the document.
func termsOf(s bulkheadconfig.Service) terms {
	t := terms{
		limit: s.Limit, reclaimAfter: s.ReclaimAfter, drainTimeout: s.DrainTimeout,
		options: []limiter.Option{limiter.WithMaxWait(s.MaxWait)},
	}
	if s.Queue != nil {
		t.options = append(t.options, limiter.WithQueue(s.Queue.Capacity, s.Queue.MaxConcurrency))
	}
	if s.Enforcement == bulkheadconfig.Shadow {
		t.options = append(t.options, limiter.WithMode(limiter.Shadow))
	}
	if s.OnReclaim == bulkheadconfig.Release {
		t.options = append(t.options, limiter.WithOnReclaim(limiter.Release))
	}
	return t
}
