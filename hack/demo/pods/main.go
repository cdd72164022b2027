// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
)

func main() { os.Exit(story.Run(intro, run)) }

const intro = `ServiceBulkhead limits how many calls to a service a process has in flight at once. The limit is a
Kubernetes object; here it reaches processes where they run in production, in pods:

  kubectl ─▶ API server ─▶ operator ─▶ ConfigMap ─▶ kubelet ─▶ agent in each pod ─▶ calls to payments
                              └─ nudge: "look now" ──▲
`

// cleanUpTime is how long the end may take, also after Ctrl-C.
const cleanUpTime = 30 * time.Second

// run plays the demo and takes away what it made, unless it is to be kept.
func run(ctx context.Context, t *story.Teller) (err error) {
	s, err := newStage(t)
	if err != nil {
		return err
	}
	keep := os.Getenv("DEMO_KEEP") != ""
	defer func() {
		if keep && err == nil {
			err = os.RemoveAll(s.dir)
			return
		}
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
		defer cancel()
		if closeErr := s.close(ending); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("clean up: %w", closeErr))
		}
	}()
	return perform(ctx, s, keep)
}

// perform prepares, plays and, if it is to be kept, tells how to play with it.
func perform(ctx context.Context, s *stage, keep bool) error {
	err := s.prepare(ctx)
	if err == nil {
		err = story.Play(ctx, s.Teller, s, acts)
	}
	if err == nil && keep {
		err = s.leave(ctx)
	}
	if ctx.Err() != nil { // whatever failed then, failed because of it
		return context.Cause(ctx)
	}
	if err != nil && s.made {
		s.showState(ctx)
	}
	return err
}
