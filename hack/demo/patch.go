// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
)

// arrival is when a change had reached the files and the limiter.
type arrival struct {
	file, inForce time.Time
	err           error
}

// patchBulkhead changes the bulkhead "payments" with kubectl and returns when the
// change is in force in the shop; it tells and checks how long that took.
func (s *stage) patchBulkhead(ctx context.Context, spec string, inForce func(bulkhead) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The change may arrive before kubectl has returned: look from the start.
	arrived := make(chan arrival, 1)
	published, begin := s.publication(), time.Now()
	go func() { arrived <- s.arrivalOf(ctx, published, inForce) }()
	if err := s.kubectl.Show(ctx, story.PatchArgs(spec)...); err != nil {
		return err
	}
	returned := time.Now()
	change := <-arrived
	if change.err != nil {
		return change.err
	}
	since := func(moment time.Time) time.Duration { return moment.Sub(begin).Round(time.Millisecond) }
	s.Say("kubectl returned after %s; the files had changed after %s, and the change was in force after %s.",
		since(returned), since(change.file), since(change.inForce))
	s.ExpectInForce(story.Words(spec)+" in force", returned, change.inForce)
	return nil
}

// arrivalOf waits until the files are others than the published ones and the
// change is in force.
func (s *stage) arrivalOf(ctx context.Context, published string, inForce func(bulkhead) bool) (a arrival) {
	// Longer than what is allowed after kubectl has returned: it runs meanwhile.
	a.err = story.Await(ctx, 2*story.ArrivalTimeout, "the change in the running shop", func(ctx context.Context) (bool, error) {
		if a.file.IsZero() && s.publication() != published {
			a.file = time.Now()
		}
		b, err := s.shopURL.bulkhead(ctx)
		a.inForce = time.Now()
		return err == nil && inForce(b) && !a.file.IsZero(), err
	})
	return a
}

// publication tells one state of the files from another: the kubelet's writer
// makes a new directory for each, and swaps the link to it.
func (s *stage) publication() string {
	target, err := os.Readlink(filepath.Join(s.mount, "..data"))
	if err != nil {
		return err.Error()
	}
	return target
}
