// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// mostTold is how many of the pods that mount one ConfigMap by subPath get an event:
	// enough to be found, and few however many there are.
	mostTold = 10

	// quiet is how long one cause of failures is not told again.
	quiet = time.Hour
)

// tellStuck tells of the pods that mount a ConfigMap by subPath, once: in the log for
// the ConfigMap, in an event for each of the first few pods.
func (n *Nudger) tellStuck(ctx context.Context, configMap types.NamespacedName, stuck []target) {
	fresh, first := n.board.untold(configMap, stuck)
	if first {
		n.log.Info("pods mount a ConfigMap by subPath, so that no change of it ever reaches them: mount it whole",
			"namespace", configMap.Namespace, "configMap", configMap.Name, "pods", len(stuck), "pod", stuck[0].name)
	}
	for _, pod := range fresh {
		n.tellPod(ctx, configMap, pod)
	}
}

func (n *Nudger) tellPod(ctx context.Context, configMap types.NamespacedName, pod target) {
	n.flights.Go(func() {
		n.telling.Lock()
		defer n.telling.Unlock()
		err := n.pods.tell(ctx, configMap, pod)
		if what := resultOf(err); ctx.Err() == nil && what != sent && what != gone {
			n.complain(err, "cannot tell a pod that it mounts a ConfigMap by subPath", pod.name)
		}
	})
}

// stuckEvent is the event on a pod that mounts a ConfigMap by subPath. Its name is the
// same whoever makes it and when, so that an operator that takes over does not tell
// again what the API server still knows.
func stuckEvent(configMap types.NamespacedName, pod target, reporter string) *eventsv1.Event {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s/%s", pod.uid, configMap.Name)
	begin := strings.TrimRight(pod.name[:min(len(pod.name), 200)], "-.")
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: configMap.Namespace, Name: fmt.Sprintf("%s.%016x", begin, hash.Sum64())},
		EventTime:  metav1.NowMicro(), Type: corev1.EventTypeWarning, Reason: "SubPath", Action: "Nudge",
		ReportingController: reporter, ReportingInstance: reporter,
		Regarding: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: configMap.Namespace, Name: pod.name, UID: pod.uid,
		},
		Note: fmt.Sprintf("mounts ConfigMap %s by subPath, so that no change of it ever reaches the pod: "+
			"mount the whole ConfigMap, without subPath", configMap.Name),
	}
}

// complaints remembers what was told a while ago.
type complaints struct {
	mu   sync.Mutex
	told map[string]time.Time
}

// anew says whether a cause is to be told now, and counts on that.
func (c *complaints) anew(cause string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for cause, at := range c.told {
		if now.Sub(at) >= quiet {
			delete(c.told, cause)
		}
	}
	_, told := c.told[cause]
	if !told {
		c.told[cause] = now
	}
	return !told
}

// complain logs an error, once for each cause: thousands of pods may fail alike.
func (n *Nudger) complain(err error, message, pod string) {
	if n.complaints.anew(causeOf(err, pod), time.Now()) {
		n.log.Error(err, message)
	}
}

// causeOf is an error without the name of the pod it happened to: the same for all
// pods that fail alike.
func causeOf(err error, pod string) string {
	if pod == "" {
		return err.Error()
	}
	return strings.ReplaceAll(err.Error(), pod, "")
}
