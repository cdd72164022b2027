// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// inFlight is how many nudges may wait for the API server's answer at once, so that
// one that is slow does not hold up the others.
const inFlight = 8

// Options are what the caller chooses.
type Options struct {
	// FieldOwner is the name under which pods are annotated.
	FieldOwner string
	// Rate is how many pods are nudged a second; what is no number above 0 means
	// DefaultRate.
	Rate float64
	// Namespaces are the only ones whose pods to watch; empty means all.
	Namespaces []string
	// Resync is how often all pods are looked at without a cause.
	Resync time.Duration
}

// Nudger nudges pods. It is a manager.Runnable of the leader's: Published may be
// called before it starts, and does no more than take a note. It has to be made by
// New.
type Nudger struct {
	pods       pods
	pace       pace
	board      *board
	log        logr.Logger
	complaints complaints

	slot    time.Time     // when the next nudge may go; of the loop alone
	wake    chan struct{} // has the loop look for something to do
	seats   chan struct{} // one is taken by each nudge in flight
	telling sync.Mutex    // events go one at a time: a new leader may have thousands
	flights sync.WaitGroup
}

// pods is how the Nudger sees and writes pods.
type pods interface {
	// run watches pods until ctx ends.
	run(ctx context.Context) error
	// open returns when all pods are known, or with an error when ctx ends. Changed is called with each
	// ConfigMap whose pods are others than before.
	open(ctx context.Context, changed func(configMap types.NamespacedName)) error
	// mounting lists the pods that mount a ConfigMap. They are the cache's own: not to be
	// changed.
	mounting(ctx context.Context, configMap types.NamespacedName) ([]corev1.Pod, error)
	// all lists every pod, in the same way.
	all(ctx context.Context) ([]corev1.Pod, error)
	// get returns nil where there is no such pod.
	get(ctx context.Context, namespace string, pod target) (*corev1.Pod, error)
	annotate(ctx context.Context, j job) error
	// tell puts an event on a pod that mounts a ConfigMap by subPath.
	tell(ctx context.Context, configMap types.NamespacedName, pod target) error
}

// New makes a Nudger; add it to the manager.
func New(mgr manager.Manager, o Options) (*Nudger, error) {
	pods, err := newCluster(mgr, o)
	if err != nil {
		return nil, err
	}
	return newNudger(pods, o.Rate, mgr.GetLogger().WithName("nudge")), nil
}

func newNudger(p pods, rate float64, log logr.Logger) *Nudger {
	return &Nudger{
		pods: p, pace: paceOf(rate), board: newBoard(), log: log,
		complaints: complaints{told: map[string]time.Time{}},
		wake:       make(chan struct{}, 1), seats: make(chan struct{}, inFlight),
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: whoever stands by
// watches no pods, and whoever loses the lead stops.
func (n *Nudger) NeedLeaderElection() bool { return true }

// Published says what a ConfigMap holds from now on. To say it again changes nothing.
func (n *Nudger) Published(configMap types.NamespacedName, d Document) {
	n.board.publish(configMap, d, time.Now())
	n.stir()
}

// Gone says that a ConfigMap is no more, or holds no document of the operator's.
func (n *Nudger) Gone(configMap types.NamespacedName) { n.board.forget(configMap) }

// Start implements manager.Runnable. It returns when its context ends, and nothing is
// written after that.
func (n *Nudger) Start(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	n.flights.Go(func() { cancel(n.pods.run(ctx)) })
	defer n.flights.Wait()
	defer cancel(nil)
	if err := n.pods.open(ctx, n.changed); err != nil && ctx.Err() == nil {
		return err
	}
	consumers.follow(n)
	defer consumers.follow(nil)
	for ctx.Err() == nil {
		n.turn(ctx)
		n.rest(ctx)
	}
	if parent.Err() == nil {
		return fmt.Errorf("watch pods: %w", context.Cause(ctx))
	}
	return nil
}

func (n *Nudger) changed(configMap types.NamespacedName) {
	n.board.touch(configMap, time.Now())
	n.stir()
}

// stir has the next turn come at once.
func (n *Nudger) stir() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// rest waits until there is something to do.
func (n *Nudger) rest(ctx context.Context) {
	var due <-chan time.Time
	if at := n.board.next(n.slot); !at.IsZero() {
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
	case <-n.wake:
	case <-due:
	}
}

// turn looks at the pods that are to be looked at, and nudges one if it is time to.
func (n *Nudger) turn(ctx context.Context) {
	for configMap, d := range n.board.due(time.Now()) {
		n.look(ctx, configMap, d)
	}
	now := time.Now()
	if now.Before(n.slot) {
		return
	}
	if n.nudge(ctx) {
		n.slot = n.pace.after(n.slot, now, rand.Float64())
	}
}

// look decides about every pod that mounts a ConfigMap.
func (n *Nudger) look(ctx context.Context, configMap types.NamespacedName, d Document) {
	pods, err := n.pods.mounting(ctx, configMap)
	if err != nil {
		n.complain(err, "cannot list the pods that mount a ConfigMap", "")
		n.board.touch(configMap, time.Now().Add(retryFirst))
		return
	}
	var due, stuck []target
	for i := range pods {
		pod := target{name: pods[i].Name, uid: pods[i].UID}
		switch why, yes := decide(&pods[i], configMap.Name, d); {
		case yes:
			due = append(due, pod)
		case why == subPathOnly:
			stuck = append(stuck, pod)
		}
	}
	n.tellStuck(ctx, configMap, stuck)
	rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	if waiting, first := n.board.offer(configMap, d, due, time.Now()); first {
		n.log.Info("nudging pods", "namespace", configMap.Namespace, "configMap", configMap.Name,
			"revision", d.Revision, "pods", waiting)
	}
}

// nudge begins the next nudge. It returns false where there is none. When its turn
// comes a pod may be another, or need no nudge any more; that takes nobody's place.
func (n *Nudger) nudge(ctx context.Context) bool {
	for {
		j, ok := n.board.take()
		if !ok {
			return false
		}
		pod, err := n.pods.get(ctx, j.configMap.Namespace, j.pod)
		if err == nil && pod != nil {
			if _, yes := decide(pod, j.configMap.Name, j.doc); yes {
				n.begin(ctx, j)
				return true
			}
		}
		n.board.settle(j, skipped, time.Now())
	}
}

// begin sends a nudge, and waits only where too many are on their way.
func (n *Nudger) begin(ctx context.Context, j job) {
	n.seats <- struct{}{}
	n.flights.Go(func() {
		err := n.pods.annotate(ctx, j)
		what := resultOf(err)
		if ctx.Err() == nil {
			n.account(j, what, err)
		}
		n.board.settle(j, what, time.Now())
		<-n.seats
		n.stir()
	})
}

// account counts a nudge, and tells what needs attention.
func (n *Nudger) account(j job, what result, err error) {
	nudges.WithLabelValues(string(what)).Inc()
	switch what {
	case sent, gone, overtaken:
		n.log.V(1).Info("nudged a pod", "namespace", j.configMap.Namespace, "configMap", j.configMap.Name,
			"revision", j.doc.Revision, "pod", j.pod.name, "result", what)
	case refused:
		n.complain(err, "may not annotate pods, which therefore follow in their kubelets' own time: "+
			"apply config/overlays/nudge, or mend what refuses it, or take --nudge away", j.pod.name)
	default:
		n.complain(err, "cannot annotate pods", j.pod.name)
	}
}
