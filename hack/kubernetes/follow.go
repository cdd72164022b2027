// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// follow calls project with the ConfigMap now and after every change, from one
// goroutine, until ctx is done; then it returns nil. Changes in quick
// succession may be one call, with the latest. A ConfigMap that does not exist
// is an empty one, as for a volume with optional: true.
func follow(ctx context.Context, client kubernetes.Interface, namespace, name string, project func(*corev1.ConfigMap) error) error {
	// Selecting by name in the list and the watch lets RBAC grant this one ConfigMap alone.
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}))
	configMaps := factory.Core().V1().ConfigMaps()
	changed := make(pending, 1)
	if _, err := configMaps.Informer().AddEventHandler(changed.onEveryEvent()); err != nil {
		return fmt.Errorf("watch ConfigMap %s/%s: %w", namespace, name, err)
	}
	defer factory.Shutdown()
	ctx, cancel := context.WithCancel(ctx) // Shutdown waits for the informer, also when a projection fails
	defer cancel()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), configMaps.Informer().HasSynced) {
		return nil
	}
	changed.raise()
	return projectChanges(ctx, configMaps.Lister().ConfigMaps(namespace), name, changed, project)
}

func projectChanges(ctx context.Context, lister corelisters.ConfigMapNamespaceLister, name string,
	changed pending, project func(*corev1.ConfigMap) error) error {
	last := "none yet"
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
		configMap, err := optional(lister.Get(name))
		if err != nil {
			return err
		}
		if configMap.ResourceVersion == last {
			continue
		}
		if err := project(configMap); err != nil {
			return err
		}
		last = configMap.ResourceVersion
	}
}

// optional turns "not found" into an empty ConfigMap.
func optional(configMap *corev1.ConfigMap, err error) (*corev1.ConfigMap, error) {
	if apierrors.IsNotFound(err) {
		return &corev1.ConfigMap{}, nil
	}
	return configMap, err
}

// pending has room for one: a change that was not seen yet stands for all that
// follow it.
type pending chan struct{}

func (p pending) raise() {
	select {
	case p <- struct{}{}:
	default:
	}
}

func (p pending) onEveryEvent() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { p.raise() },
		UpdateFunc: func(_, _ any) { p.raise() },
		DeleteFunc: func(any) { p.raise() },
	}
}
