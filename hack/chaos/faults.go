// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/localplane"
)

// kills ends the operator by force: in half of the rounds at any moment, in the other half
// right after it has written a ConfigMap, when the statuses are still to be told.
func (t *trial) kills(ctx context.Context, p plan) error {
	return t.rounds(ctx, "operator killed", p.kills, func(ctx context.Context) error {
		if t.random.IntN(2) == 0 {
			if err := pause(ctx, time.Duration(t.random.Int64N(int64(400*time.Millisecond)))); err != nil {
				return err
			}
		} else {
			for range 1 + t.random.IntN(4) {
				if err := t.awaitWrite(ctx); err != nil {
					return err
				}
			}
		}
		t.fleet.kill(0)
		return pause(ctx, time.Duration(t.random.Int64N(int64(50*time.Millisecond))))
	})
}

// awaitWrite waits until the operator writes a ConfigMap.
func (t *trial) awaitWrite(ctx context.Context) error {
	select {
	case <-t.witness.next():
		return nil
	case <-time.After(convergeTimeout):
		return errors.New("the operator writes nothing")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// outage is how long a component stays away.
const outage = 2 * time.Second

func (t *trial) serverCrashes(ctx context.Context, p plan) error {
	return t.rounds(ctx, "API server killed and started again", p.serverCrashes, func(ctx context.Context) error {
		return t.crash(ctx, localplane.APIServer)
	})
}

func (t *trial) etcdCrashes(ctx context.Context, p plan) error {
	return t.rounds(ctx, "etcd killed and started again", p.etcdCrashes, func(ctx context.Context) error {
		return t.crash(ctx, localplane.Etcd)
	})
}

func (t *trial) crash(ctx context.Context, component string) error {
	if err := pause(ctx, time.Duration(t.random.Int64N(int64(500*time.Millisecond)))); err != nil {
		return err
	}
	t.outage = true
	if err := t.bed.Plane.Crash(component); err != nil {
		return err
	}
	return errors.Join(pause(ctx, outage), t.bed.Plane.Revive(ctx, component))
}

// leaderKills kills the leader of two replicas; the other takes over when the lease
// has run out.
func (t *trial) leaderKills(ctx context.Context, p plan) error {
	if p.leaderKills+p.leaderFreezes+p.stalls == 0 {
		return nil
	}
	if err := t.fleet.deploy(2); err != nil {
		return err
	}
	return t.rounds(ctx, "leader of two replicas killed", p.leaderKills, func(ctx context.Context) error {
		leads, err := t.fleet.leader(ctx)
		if err != nil {
			return err
		}
		if err := pause(ctx, time.Duration(t.random.Int64N(int64(500*time.Millisecond)))); err != nil {
			return err
		}
		t.fleet.kill(leads)
		began := time.Now()
		_, err = t.fleet.leader(ctx)
		t.report.Note("the other leads after", "%.1fs", time.Since(began).Seconds())
		return err
	})
}

// leaderFreezes stops the leader of two replicas where it stands until the other has
// taken over, and lets it go on: it must write nothing more, and end.
func (t *trial) leaderFreezes(ctx context.Context, p plan) error {
	return t.rounds(ctx, "leader of two replicas frozen until the other leads", p.leaderFreezes, func(ctx context.Context) error {
		leads, err := t.fleet.leader(ctx)
		if err != nil {
			return err
		}
		frozen := t.fleet.replicas[leads]
		t.outage = true // it finds its lease gone, and says so
		if err := frozen.Freeze(); err != nil {
			return err
		}
		_, err = t.fleet.leaderBut(ctx, leads)
		if err := errors.Join(err, frozen.Thaw()); err != nil {
			return err
		}
		select {
		case <-frozen.Ended():
			return nil
		case <-time.After(convergeTimeout):
			return errors.New("it still runs, though another leads")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

// stalls stops the API server where it stands: requests are neither answered nor
// refused. The leader loses its lease, which it cannot renew, and ends.
func (t *trial) stalls(ctx context.Context, p plan) error {
	return t.rounds(ctx, "API server stalled for "+p.stall.String(), p.stalls, func(ctx context.Context) error {
		if _, err := t.fleet.leader(ctx); err != nil {
			return err
		}
		t.outage = true
		thaw, err := t.bed.Plane.Freeze(localplane.APIServer)
		if err != nil {
			return err
		}
		if err := errors.Join(pause(ctx, p.stall), thaw()); err != nil {
			return err
		}
		// Only now do the leader and its requests learn how the world has moved on.
		return pause(ctx, outage)
	})
}
