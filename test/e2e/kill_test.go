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

// kills are the operator's processes that were killed; those that were deleted by force,
// with their pods, are counted apart.
var kills struct {
	mu    sync.Mutex
	count int
	afar  int
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

// kill kills the leader after a while, lets another take over at once, and returns when
// it did so; zero, where there was nobody to kill.
//
// The other would have to wait until the Lease runs out, 15 s, because it cannot know
// that the holder is dead. We do: its process is gone. So the Lease is deleted, and as
// deleting it names the version that the dead wrote, nobody else's is hit. One step
// waits instead (killAndWait).
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
	if !own() {
		return at, killFromAfar(ctx, pod)
	}
	pids, err := processes(pod.UID, "operator")
	if err != nil {
		return at, err
	}
	if len(pids) == 0 { // the step ended it before; anything else is the suite's fault
		ended, err := terminates(ctx, pod)
		if err == nil && !ended {
			err = fmt.Errorf("no process of pod %s can be seen", pod.Name)
		}
		return time.Time{}, err
	}
	if err := killWithPod(ctx, pod, pids); err != nil {
		return at, fmt.Errorf("kill the operator of pod %s: %w", pod.Name, err)
	}
	return at, deleteLease(ctx, *lease.Spec.HolderIdentity)
}

// killWithPod kills processes and has their pod replaced. A container that is killed
// time and again would be restarted later and later; and were its pod deleted after
// the kill, the kubelet could be restarting it that moment, and a process that is told
// to end before it listens to signals runs on as the first of its container, leading,
// until the grace period ends. So the process is frozen, where the dice stopped it,
// the pod is deleted, and when the kubelet has told the process to end, which it
// cannot hear, it is killed. A pod that the step itself has deleted before that may
// have heard it, and is killed without further waiting: nobody restarts it.
func killWithPod(ctx context.Context, pod *corev1.Pod, pids []int) error {
	if err := signal(pids, syscall.SIGSTOP); err != nil {
		return err
	}
	if terminating, err := terminates(ctx, pod); err != nil || terminating {
		return errors.Join(err, killNow(ctx, pids))
	}
	if err := forget(ctx, pod); err != nil {
		return errors.Join(err, killNow(ctx, pids))
	}
	err := soon(ctx, func() bool { return gone(pids) || told(pids, syscall.SIGTERM) })
	return errors.Join(err, killNow(ctx, pids))
}

// terminates says whether a pod is about to go, or gone.
func terminates(ctx context.Context, pod *corev1.Pod) (bool, error) {
	var now corev1.Pod
	err := cluster.client.Get(ctx, client.ObjectKeyFromObject(pod), &now)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return now.DeletionTimestamp != nil || now.UID != pod.UID, err
}

// killNow kills processes, and returns when they are dead.
func killNow(ctx context.Context, pids []int) error {
	if err := signal(pids, syscall.SIGKILL); err != nil {
		return err
	}
	countKill()
	return soon(ctx, func() bool { return gone(pids) })
}

// killFromAfar deletes a pod by force, on a cluster whose processes we do not see.
// Nobody knows when its process ends, and whether it hears of that, so that the Lease
// is left alone.
func killFromAfar(ctx context.Context, pod *corev1.Pod) error {
	err := cluster.client.Delete(ctx, pod, client.GracePeriodSeconds(0))
	kills.mu.Lock()
	defer kills.mu.Unlock()
	if err == nil {
		kills.afar++
	}
	return client.IgnoreNotFound(err)
}

// soon waits until something is so.
func soon(ctx context.Context, so func() bool) error {
	return wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		return so(), nil
	})
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

func countKill() {
	kills.mu.Lock()
	defer kills.mu.Unlock()
	kills.count++
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

// killAndWait kills the leader's process and leaves all else alone: the kubelet restarts
// its container, and whoever is to lead has to wait until the Lease runs out. It
// returns the pod; nil, where nobody is killed, or no process can be.
func killAndWait(ctx context.Context) *corev1.Pod {
	GinkgoHelper()
	if !deadly() || !own() {
		return nil
	}
	pod, _, err := awaitLeader(ctx)
	Expect(err).NotTo(HaveOccurred())
	pids, err := processes(pod.UID, "operator")
	Expect(err).NotTo(HaveOccurred())
	Expect(pids).NotTo(BeEmpty())
	Expect(killNow(ctx, pids)).To(Succeed())
	return pod
}

// killed is how often an operator was killed so far.
func killed() int {
	kills.mu.Lock()
	defer kills.mu.Unlock()
	return kills.count + kills.afar
}

// noteKills notes how many there were, and how long nobody led.
func noteKills() {
	kills.mu.Lock()
	defer kills.mu.Unlock()
	note("operator", "killed (SIGKILL)", "%d times; deleted by force %d times", kills.count, kills.afar)
	if slices.Sort(kills.gaps); len(kills.gaps) > 0 {
		note("operator", "another led", "after p50 %s, longest %s", percentile(kills.gaps, 50), percentile(kills.gaps, 100))
	}
}

// forget deletes a pod, so that a new one takes its place.
func forget(ctx context.Context, pod *corev1.Pod) error {
	return client.IgnoreNotFound(cluster.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}))
}
