// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// cluster is the pods of a cluster. They have a cache of their own: the manager's does
// nothing before all that it watches is known, so that a missing right to pods would
// keep the operator from publishing.
type cluster struct {
	cache  cache.Cache
	client client.Client
	owner  string
}

func newCluster(mgr manager.Manager, o Options) (*cluster, error) {
	pods, err := cache.New(mgr.GetConfig(), cacheOptions(mgr, o))
	if err != nil {
		return nil, fmt.Errorf("make cache of pods: %w", err)
	}
	return &cluster{cache: pods, client: mgr.GetClient(), owner: o.FieldOwner}, nil
}

// cacheOptions have the pods cached that ask for nudges, and of those what the decision
// needs.
func cacheOptions(mgr manager.Manager, o Options) cache.Options {
	options := cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), SyncPeriod: &o.Resync,
		ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: asking},
	}
	for _, namespace := range o.Namespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

var asking = cache.ByObject{
	Label:     labels.SelectorFromSet(labels.Set{Label: labelValue}),
	Transform: strip,
}

func (c *cluster) run(ctx context.Context) error { return c.cache.Start(ctx) }

func (c *cluster) open(ctx context.Context, changed func(types.NamespacedName)) error {
	if err := c.cache.IndexField(ctx, &corev1.Pod{}, configMapIndex, indexConfigMaps); err != nil {
		return fmt.Errorf("index pods: %w", err)
	}
	informer, err := c.cache.GetInformer(ctx, &corev1.Pod{})
	if err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	// Pods that go away need nothing.
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { announce(object, changed) },
		UpdateFunc: func(was, now any) {
			if matters(was, now) {
				announce(now, changed)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("follow pods: %w", err)
	}
	// GetInformer has not waited where the cache did not run yet.
	if !c.cache.WaitForCacheSync(ctx) {
		return fmt.Errorf("learn of pods: %w", context.Cause(ctx))
	}
	return nil
}

func announce(object any, changed func(types.NamespacedName)) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	for configMap := range mountsOf(pod) {
		changed(types.NamespacedName{Namespace: pod.Namespace, Name: configMap})
	}
}

// matters leaves out what no decision depends on, the operator's own annotations
// among it. A resync brings the same object twice, and has everything looked at.
func matters(was, now any) bool {
	before, ok1 := was.(*corev1.Pod)
	after, ok2 := now.(*corev1.Pod)
	return ok1 && ok2 && (before.ResourceVersion == after.ResourceVersion || before.UID != after.UID ||
		before.Status.Phase != after.Status.Phase || !before.Status.StartTime.Equal(after.Status.StartTime) ||
		len(before.Spec.Volumes) != len(after.Spec.Volumes)) // an ephemeral container may be the first to mount one
}

func (c *cluster) mounting(ctx context.Context, configMap types.NamespacedName) ([]corev1.Pod, error) {
	return c.list(ctx, client.InNamespace(configMap.Namespace), client.MatchingFields{configMapIndex: configMap.Name})
}

func (c *cluster) all(ctx context.Context) ([]corev1.Pod, error) { return c.list(ctx) }

func (c *cluster) list(ctx context.Context, how ...client.ListOption) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := c.cache.List(ctx, &list, append(how, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	return list.Items, nil
}

func (c *cluster) get(ctx context.Context, namespace string, pod target) (*corev1.Pod, error) {
	var found corev1.Pod
	err := c.cache.Get(ctx, types.NamespacedName{Namespace: namespace, Name: pod.name}, &found)
	switch {
	case apierrors.IsNotFound(err), err == nil && found.UID != pod.uid:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get pod: %w", err)
	}
	return &found, nil
}

func (c *cluster) annotate(ctx context.Context, j job) error {
	return annotate(ctx, c.client, c.owner, j)
}

func (c *cluster) tell(ctx context.Context, configMap types.NamespacedName, pod target) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := c.client.Create(ctx, stuckEvent(configMap, pod, c.owner))
	if apierrors.IsAlreadyExists(err) {
		return nil // told by a process before this one
	}
	return err
}
