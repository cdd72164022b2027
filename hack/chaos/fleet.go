// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/localplane/testbed"
)

// fleet is the operator's replicas, which it starts again when they end.
type fleet struct {
	bed      *testbed.Bed
	flags    []string
	replicas []*testbed.Operator
	restarts int // of replicas that had ended by themselves
}

// deploy stops what runs and starts n replicas.
func (f *fleet) deploy(n int, flags ...string) error {
	for _, o := range f.replicas {
		o.Stop(stopGrace)
	}
	f.replicas, f.flags = make([]*testbed.Operator, n), flags
	return f.tend()
}

// stopGrace is the grace period of the manifest's pods.
const stopGrace = 30 * time.Second

// tend starts the replicas that are missing.
func (f *fleet) tend() error {
	for i, o := range f.replicas {
		if o != nil {
			select {
			case <-o.Ended():
				f.restarts++
			default:
				continue
			}
		}
		started, err := f.bed.StartOperator(f.flags...)
		if err != nil {
			return err
		}
		f.replicas[i] = started
	}
	return nil
}

// kill kills a replica, and leaves its place empty until the next look.
func (f *fleet) kill(i int) {
	f.replicas[i].Kill()
	f.replicas[i] = nil
}

// leader waits for the replica that leads.
func (f *fleet) leader(ctx context.Context) (int, error) { return f.leaderBut(ctx, -1) }

// leaderBut waits for another replica than that one to lead.
func (f *fleet) leaderBut(ctx context.Context, other int) (int, error) {
	ticker := time.NewTicker(convergePoll)
	defer ticker.Stop()
	for {
		for i, o := range f.replicas {
			if i != other && o != nil && strings.Contains(strings.Join(o.Tail(math.MaxInt), "\n"), "uccessfully acquired lease") {
				return i, nil
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return 0, errors.Join(errors.New("no replica leads"), context.Cause(ctx))
		}
	}
}

// conflicts are the complaints about no more than that somebody else was faster, and
// panics.
func conflicts(complaints []string) (found []string) {
	for _, line := range complaints {
		for _, sign := range []string{
			"the object has been modified", "already exists", "AlreadyExists", "Precondition failed", "metadata.uid", ": panic",
		} {
			if strings.Contains(line, sign) {
				found = append(found, line)
				break
			}
		}
	}
	return found
}

// causes counts complaints by what they begin with.
func causes(complaints []string) string {
	counts := map[string]int{}
	for _, line := range complaints {
		_, text, _ := strings.Cut(line, `"msg":"`)
		text, _, _ = strings.Cut(text, `"`)
		counts[text[:min(40, len(text))]]++
	}
	var all []string
	for text, n := range counts {
		all = append(all, fmt.Sprintf("%d × %s", n, text))
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}
