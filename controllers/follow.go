// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/servicebulkhead/servicebulkhead/controllers/nudge"
)

// followers are told by every pass what a ConfigMap holds, so that pods follow.
type followers interface {
	// Published may say the same many times.
	Published(configMap types.NamespacedName, d nudge.Document)
	// Gone says that there is no such ConfigMap, or nothing of ours in it.
	Gone(configMap types.NamespacedName)
}

// setupNudge adds the Nudger to a manager where Options ask for it. Otherwise nobody
// is told, and nothing in the process knows of pods.
func setupNudge(mgr manager.Manager, o Options) (followers, error) {
	if !o.Nudge {
		return nobody{}, nil
	}
	if err := registerMetrics(nudge.Collectors()...); err != nil {
		return nil, err
	}
	nudger, err := nudge.New(mgr, nudge.Options{
		FieldOwner: FieldOwner, Rate: o.NudgeRate, Namespaces: o.Namespaces, Resync: cmp.Or(o.Resync, DefaultResync),
	})
	if err != nil {
		return nil, err
	}
	return nudger, mgr.Add(nudger)
}

type nobody struct{}

func (nobody) Published(types.NamespacedName, nudge.Document) {}
func (nobody) Gone(types.NamespacedName)                      {}

// tell says what a pass has left in the ConfigMap.
func (r *reconciler) tell(key types.NamespacedName, p pass) {
	if d, held := p.holds(time.Now()); held {
		r.followers.Published(key, d)
	} else {
		r.followers.Gone(key)
	}
}

// holds is the document that the ConfigMap holds after the pass, if that is one that we
// wrote: not what could not be written, nor what somebody else has put there and the
// next pass puts right.
func (p pass) holds(now time.Time) (nudge.Document, bool) {
	labelOnly := p.current.written() && holds(p.current, p.desired)
	switch {
	case p.after.wrote && !labelOnly:
		return nudge.Document{Revision: p.desired.revision, Written: now}, true
	case p.current.written() && p.current.unreadable == nil:
		return nudge.Document{Revision: p.current.document.Revision, Written: p.current.writtenAt(now)}, true
	}
	return nudge.Document{}, false
}
