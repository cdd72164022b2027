// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
)

func main() {
	// Children are killed when the thread that started them ends: this one does not.
	runtime.LockOSThread()
	os.Exit(story.Run(intro, run))
}

const intro = `ServiceBulkhead limits how many calls to a service a process has in flight at once. The limit is a
Kubernetes object; this is its way into a running process, and the demo goes all of it:

  kubectl ─▶ API server ─▶ operator ─▶ ConfigMap ─▶ files ─▶ agent in the shop ─▶ calls to payments
`

// run plays the demo and cleans up.
func run(ctx context.Context, t *story.Teller) (err error) {
	s, err := newStage(t)
	if err != nil {
		return err
	}
	defer func() {
		t.Line("stopping everything …")
		if closeErr := s.close(); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("clean up: %w", closeErr))
		}
	}()
	return perform(ctx, s, os.Getenv("DEMO_KEEP") != "")
}

// perform builds, plays and, if asked to, keeps things running.
func perform(ctx context.Context, s *stage, keep bool) error {
	err := s.prepare(ctx)
	if err == nil {
		err = story.Play(ctx, s.Teller, s, acts(keep))
	}
	switch {
	case ctx.Err() != nil: // whatever failed then, failed because of it
		return context.Cause(ctx)
	case err != nil:
		s.showLogs()
		return err
	case keep:
		s.hold(ctx)
	}
	return nil
}
