// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// RBAC cannot tell the name of what is created, so this is a rule of its own.
//
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=create,namespace=servicebulkhead-system
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=operator.servicebulkhead.io,verbs=get;update,namespace=servicebulkhead-system
// +kubebuilder:rbac:groups="",resources=events,verbs=create,namespace=servicebulkhead-system

const (
	// LeaderElectionID is the name of the Lease that the leading replica holds.
	LeaderElectionID = "operator.servicebulkhead.io"

	// DefaultResync is the resync period where Options sets none.
	DefaultResync = time.Hour

	// gracefulShutdown fits a pod's default grace period of 30 s with room to spare.
	gracefulShutdown = 20 * time.Second

	// workers is how many ConfigMaps are worked on at once.
	workers = 4

	// retryFirst and retryMost are the delays between tries of what went wrong. They
	// grow fast, and are never so long that people who lifted the cause begin to
	// doubt it.
	retryFirst = 5 * time.Millisecond
	retryMost  = 30 * time.Second
)

// Options are what an installation chooses.
type Options struct {
	// Namespaces are the only ones to watch; empty means all.
	Namespaces []string
	// Resync is how often everything is looked at without a cause; 0 means
	// DefaultResync.
	Resync time.Duration
	// Metrics says where metrics are served, and to whom.
	Metrics MetricsOptions
	// ProbeAddress is where /healthz and /readyz are served; empty or "0" means
	// nowhere.
	ProbeAddress string
	// LeaderElection lets one replica of several do the work.
	LeaderElection bool
	// LeaderElectionNamespace is where the Lease lies; empty means the pod's own
	// namespace, and is an error outside a cluster.
	LeaderElectionNamespace string
	// Nudge has pods that ask for it follow a change within about a second. It takes
	// rights of its own, to watch pods and to patch their status.
	Nudge bool
	// NudgeRate is how many pods are nudged a second; 0 means nudge.DefaultRate.
	NudgeRate float64
}

// ManagerOptions configures a manager for Setup. The caller may change what it
// returns, except for the scheme and the cache.
func ManagerOptions(o Options) manager.Options {
	timeout := gracefulShutdown
	return manager.Options{
		Scheme:                  newScheme(),
		Cache:                   cacheOptions(o),
		Metrics:                 o.Metrics.server(),
		HealthProbeBindAddress:  o.ProbeAddress,
		LeaderElection:          o.LeaderElection,
		LeaderElectionID:        LeaderElectionID,
		LeaderElectionNamespace: o.LeaderElectionNamespace,
		// Safe only because the process ends when the manager does.
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &timeout,
	}
}

// Setup adds the controller to a manager that was made with ManagerOptions of the same
// Options. It returns an error when the manager has it already.
func Setup(mgr manager.Manager, o Options) error {
	if err := registerMetrics(collectors()...); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	followers, err := setupNudge(mgr, o)
	if err != nil {
		return fmt.Errorf("set nudge up: %w", err)
	}
	err = mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.ServiceBulkhead{},
		configMapNameIndex, indexConfigMapName)
	if err != nil {
		return fmt.Errorf("index bulkheads: %w", err)
	}
	arrivals := newArrivals()
	return ctrl.NewControllerManagedBy(mgr).
		Named("servicebulkhead").
		Watches(&v1alpha1.ServiceBulkhead{}, handler.EnqueueRequestsFromMapFunc(arrivals.request),
			builder.WithPredicates(bulkheadChanged)).
		WatchesMetadata(&corev1.ConfigMap{}, &handler.EnqueueRequestForObject{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: newRateLimiter()}).
		Complete(&reconciler{
			client:    mgr.GetClient(),
			live:      mgr.GetAPIReader(),
			events:    mgr.GetEventRecorder(FieldOwner),
			pace:      newPace(),
			arrivals:  arrivals,
			followers: followers,
		})
}

func newRateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryMost)
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // only two types of one name could cause it
		}
	}
	return scheme
}

// cacheOptions keep memory small: of ConfigMaps, only those with our label, and
// of those only what tells one state from another; of bulkheads no metadata that
// nobody here reads.
func cacheOptions(o Options) cache.Options {
	resync := cmp.Or(o.Resync, DefaultResync)
	options := cache.Options{
		SyncPeriod:       &resync,
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: {
				Label:     labels.SelectorFromSet(labels.Set{ManagedLabel: managedValue}),
				Transform: stripMetadata,
			},
			&v1alpha1.ServiceBulkhead{}: {Transform: stripMetadata},
		},
	}
	for _, namespace := range o.Namespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

// stripMetadata drops what people can make large.
func stripMetadata(in any) (any, error) {
	if object, ok := in.(client.Object); ok {
		object.SetManagedFields(nil)
		object.SetAnnotations(nil)
		object.SetLabels(nil)
	}
	return in, nil
}
