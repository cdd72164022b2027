// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/controllers"
)

// killWithin is how long after a step began its kill may come: before, during or
// after what the operator has to do in it.
const killWithin = 300 * time.Millisecond

// kills are the operator's processes that were killed.
var kills struct {
	mu    sync.Mutex
	count int
	gaps  []time.Duration // from each until another operator led
	dice  *rand.Rand      // repeats with the seed that Ginkgo prints
}

// step does a part of a spec while the operator that leads is killed (SIGKILL): at a
// moment that the dice choose, near the step's beginning. What the step expects must
// come true all the same. Where no operator runs, nobody is killed.
func step(ctx context.Context, name string, do func(ctx context.Context)) {
	GinkgoHelper()
	By(name)
	during(ctx, startKill(ctx, delay()), do)
}

// stepAfterKill does a part of a spec when the operator that led is dead, and maybe
// none leads as yet: for steps that count what an operator does, which is once at
// most if it is killed while it does it.
func stepAfterKill(ctx context.Context, name string, do func(ctx context.Context)) {
	GinkgoHelper()
	By(name)
	k := startKill(ctx, 0)
	<-k.dead
	during(ctx, k, do)
}

// during does something, and returns when another operator leads as well. Whatever
// becomes of the step, the next one does not meet this kill.
func during(ctx context.Context, k killing, do func(ctx context.Context)) {
	GinkgoHelper()
	var err error
	func() {
		defer func() { err = <-k.done }()
		do(ctx)
	}()
	Expect(err).NotTo(HaveOccurred())
}

// killing is a kill on its way.
type killing struct {
	dead chan struct{} // closed when the operator is dead, or nobody is to be killed
	done chan error    // receives when another leads
}

func startKill(ctx context.Context, after time.Duration) killing {
	k := killing{dead: make(chan struct{}), done: make(chan error, 1)}
	go func() {
		began, err := kill(ctx, after)
		close(k.dead)
		if err == nil && !began.IsZero() {
			err = takenOver(ctx, began)
		}
		k.done <- err
	}()
	return k
}

// takenOver waits until another operator leads, and notes how long that took.
func takenOver(ctx context.Context, since time.Time) error {
	pod, _, err := awaitLeader(ctx)
	if errors.Is(err, errNoOperator) { // it was scaled to 0 meanwhile
		return nil
	}
	kills.mu.Lock()
	defer kills.mu.Unlock()
	kills.gaps = append(kills.gaps, time.Since(since))
	if err == nil {
		GinkgoWriter.Printf("%s leads %s after the kill\n", pod.Name, time.Since(since).Round(time.Millisecond))
	}
	return err
}

func delay() time.Duration {
	kills.mu.Lock()
	defer kills.mu.Unlock()
	if kills.dice == nil {
		kills.dice = rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0))
	}
	return time.Duration(kills.dice.Int64N(int64(killWithin)))
}

// kill kills the leader after a while, lets the other replica take over at once, and
// returns when it did so; zero, where there was nobody to kill.
//
// The other would have to wait until the Lease runs out, 15 s, because it cannot know
// that the holder is dead. We do: its process is gone. So the Lease is deleted, and as
// deleting it names the version that the dead wrote, nobody else's is hit. One step
// waits instead (killAndWait). The pod is deleted as well (forget).
func kill(ctx context.Context, after time.Duration) (at time.Time, err error) {
	if !deadly() {
		return at, nil
	}
	pod, lease, err := awaitLeader(ctx)
	if errors.Is(err, errNoOperator) {
		return at, nil
	}
	if err != nil {
		return at, err
	}
	pause(ctx, after)
	at = time.Now()
	GinkgoWriter.Printf("%s, which leads, is killed at %s\n", pod.Name, at.Format("15:04:05.000"))
	dead, err := killPod(ctx, pod)
	if err != nil || !dead {
		return at, err
	}
	if err := deleteLease(ctx, *lease.Spec.HolderIdentity); err != nil {
		return at, err
	}
	return at, forget(ctx, pod)
}

// deadly says whether operators are to be killed.
func deadly() bool { return setting("E2E_KILL", "1") != "0" }

// awaitLeader waits until an operator leads.
func awaitLeader(ctx context.Context) (pod *corev1.Pod, lease *coordinationv1.Lease, err error) {
	var last error
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		pod, lease, last = leader(ctx)
		if errors.Is(last, errNoOperator) {
			return false, last
		}
		return last == nil, nil
	})
	if err != nil && !errors.Is(err, errNoOperator) {
		err = fmt.Errorf("no operator leads: %w", errors.Join(err, last))
	}
	return pod, lease, err
}

// pause waits; the end of the context ends it.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// killPod kills the process of an operator's pod, and says whether it is known to be
// dead. On a cluster whose processes we do not see, the pod is deleted by force, and
// nobody knows when its process ends.
func killPod(ctx context.Context, pod *corev1.Pod) (dead bool, err error) {
	pids, err := processes(pod.UID, "operator")
	if err != nil {
		return false, err
	}
	if len(pids) == 0 {
		err := cluster.client.Delete(ctx, pod, client.GracePeriodSeconds(0))
		countKill(err == nil)
		return false, client.IgnoreNotFound(err)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return false, fmt.Errorf("kill process %d of pod %s: %w", pid, pod.Name, err)
		}
	}
	countKill(true)
	return true, wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		return allGone(pids), nil
	})
}

func countKill(yes bool) {
	kills.mu.Lock()
	defer kills.mu.Unlock()
	if yes {
		kills.count++
	}
}

// deleteLease deletes the Lease if the dead process still holds it; its identity is
// that of no other, not even of the same container started again.
func deleteLease(ctx context.Context, dead string) error {
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: systemNamespace, Name: controllers.LeaderElectionID}
	if err := cluster.client.Get(ctx, key, &lease); err != nil {
		return client.IgnoreNotFound(err)
	}
	if holder := lease.Spec.HolderIdentity; holder == nil || *holder != dead {
		return nil
	}
	err := cluster.client.Delete(ctx, &lease, client.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion})
	if apierrors.IsConflict(err) {
		return nil // somebody took it this moment
	}
	return client.IgnoreNotFound(err)
}

// killAndWait kills the leader and leaves the Lease alone. It says which pod it was,
// nil if none is to be killed, and whether its process is known to be dead.
func killAndWait(ctx context.Context) (pod *corev1.Pod, dead bool) {
	GinkgoHelper()
	if !deadly() {
		return nil, false
	}
	pod, _, err := awaitLeader(ctx)
	Expect(err).NotTo(HaveOccurred())
	dead, err = killPod(ctx, pod)
	Expect(err).NotTo(HaveOccurred())
	return pod, dead
}

// killed is how often an operator was killed so far.
func killed() int {
	kills.mu.Lock()
	defer kills.mu.Unlock()
	return kills.count
}

// noteKills notes how many there were, and how long nobody led.
func noteKills() {
	note("operator", "killed (SIGKILL)", "%d times", killed())
	kills.mu.Lock()
	defer kills.mu.Unlock()
	if slices.Sort(kills.gaps); len(kills.gaps) > 0 {
		note("operator", "another led", "after p50 %s, longest %s", percentile(kills.gaps, 50), percentile(kills.gaps, 100))
	}
}

// forget deletes a pod whose process was killed, so that a new one takes its place: its
// container, killed time and again, would be restarted later and later. Not by force:
// the kubelet may have restarted it already, and then it shall give back its Lease.
func forget(ctx context.Context, pod *corev1.Pod) error {
	return client.IgnoreNotFound(cluster.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}))
}
