// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// stirrer creates, changes and deletes bulkheads at random, and keeps a book of what
// it has ever declared.
type stirrer struct {
	admin  client.Client
	random *rand.Rand
	limit  int // the last one given out; no two declarations have the same

	mu       sync.Mutex
	declared map[types.NamespacedName]map[int]bool // limits, by ConfigMap's namespace and service
	tried    int
	failed   int
}

func newStirrer(admin client.Client, seed uint64) *stirrer {
	return &stirrer{
		admin: admin, random: rand.New(rand.NewPCG(seed, 1)), limit: 100,
		declared: map[types.NamespacedName]map[int]bool{},
	}
}

const (
	stirEvery   = 8 * time.Millisecond
	stirTimeout = 2 * time.Second // of one request, so that a stall does not stop it for good
)

// start stirs until stop is called, which returns when no request is under way.
func (s *stirrer) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		ticker := time.NewTicker(stirEvery)
		defer ticker.Stop()
		for ctx.Err() == nil {
			s.once(ctx)
			select {
			case <-ticker.C:
			case <-ctx.Done():
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// once does one thing to one bulkhead. An error is the fault's doing: that the API
// server is away, mostly.
func (s *stirrer) once(ctx context.Context) {
	configMap := s.random.IntN(mapCount)
	rival := configMap == contested && s.random.IntN(4) == 0
	r := newRole(s.random.IntN(namespaceCount), configMap, s.random.IntN(serviceCount), rival)
	drop := !r.anchor && s.random.IntN(4) == 0
	ctx, cancel := context.WithTimeout(ctx, stirTimeout)
	defer cancel()
	var err error
	if drop {
		err = client.IgnoreNotFound(s.admin.Delete(ctx, r.bulkhead(1)))
	} else {
		err = s.declare(ctx, r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried++
	if err != nil {
		s.failed++
	}
}

// declare creates a bulkhead with a limit of its own, or gives it that.
func (s *stirrer) declare(ctx context.Context, r role) error {
	s.limit++
	if s.limit > 60_000 {
		s.limit = 101
	}
	s.note(r.namespace, r.service, s.limit)
	b := r.bulkhead(s.limit)
	err := s.admin.Create(ctx, b)
	if apierrors.IsAlreadyExists(err) {
		patch := fmt.Appendf(nil, `{"spec":{"limit":%d,"reclaimAfter":%q}}`, s.limit, b.Spec.ReclaimAfter)
		err = client.IgnoreNotFound(s.admin.Patch(ctx, b, client.RawPatch(types.MergePatchType, patch)))
	}
	return err
}

// note puts a declaration into the book before it is sent: of a request without an
// answer one does not know whether it was carried out.
func (s *stirrer) note(namespace, service string, limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := types.NamespacedName{Namespace: namespace, Name: service}
	if s.declared[key] == nil {
		s.declared[key] = map[int]bool{}
	}
	s.declared[key][limit] = true
}

// legal says whether somebody has declared the entry, just as it is.
func (s *stirrer) legal(namespace, service string, entry bulkheadconfig.Service) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := types.NamespacedName{Namespace: namespace, Name: service}
	return s.declared[key][entry.Limit] && entry.ReclaimAfter == windowOf(entry.Limit)
}

func (s *stirrer) count() (tried, failed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tried, s.failed
}
