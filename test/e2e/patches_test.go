// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/controllers"
	"github.com/servicebulkhead/servicebulkhead/controllers/nudge"
)

// annotation is what the operator writes on the pods that mount the ConfigMap.
const annotation = nudge.AnnotationPrefix + v1alpha1.DefaultConfigMapName

// patches watches the pods of a namespace for what the operator writes on them.
type patches struct {
	mu   sync.Mutex
	pods map[types.UID]*patched
}

// patched is what is known of one pod.
type patched struct {
	revisions map[string]string // what was last written on it, by annotation
	count     int               // how often it was
	touched   bool              // whether it ever was, by the name of who wrote
}

// watchPatches watches until the context ends.
func watchPatches(ctx context.Context, namespace string) *patches {
	GinkgoHelper()
	p := &patches{pods: map[types.UID]*patched{}}
	watchPods(ctx, namespace, cache.ResourceEventHandlerFuncs{
		AddFunc:    p.see,
		UpdateFunc: func(_, now any) { p.see(now) },
	})
	return p
}

// watchPods tells of the pods of a namespace until the context ends, and returns when
// it began. A watch that is interrupted takes up where it was.
func watchPods(ctx context.Context, namespace string, handler cache.ResourceEventHandler) {
	GinkgoHelper()
	informer := informers.NewSharedInformerFactoryWithOptions(cluster.set, 0, informers.WithNamespace(namespace)).Core().V1().Pods().Informer()
	_, err := informer.AddEventHandler(handler)
	Expect(err).NotTo(HaveOccurred())
	go informer.RunWithContext(ctx)
	Eventually(informer.HasSynced).WithContext(ctx).Should(BeTrue())
}

func (p *patches) see(object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.pods[pod.UID]
	if known == nil {
		known = &patched{}
		p.pods[pod.UID] = known
	}
	revisions := maps.Clone(pod.Annotations)
	maps.DeleteFunc(revisions, func(key, _ string) bool { return !strings.HasPrefix(key, nudge.AnnotationPrefix) })
	if !maps.Equal(revisions, known.revisions) {
		known.revisions = revisions
		known.count++
	}
	known.touched = known.touched || slices.ContainsFunc(pod.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == controllers.FieldOwner
	})
}

// of is what is known of a pod.
func (p *patches) of(pod *corev1.Pod) patched {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.pods[pod.UID]; known != nil {
		return *known
	}
	return patched{}
}

// total is how many patches there were, on whichever pod.
func (p *patches) total() (count int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, known := range p.pods {
		count += known.count
	}
	return count
}

// on is how many there were on some pods.
func (p *patches) on(pods []*corev1.Pod) (count int) {
	for _, pod := range pods {
		count += p.of(pod).count
	}
	return count
}
