// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/hack/localplane"
)

const (
	systemNamespace = "servicebulkhead-system"
	defaultTimeout  = 20 * time.Second
)

var (
	plane *localplane.Plane
	// admin is the cluster's administrator: the people of the specs.
	admin client.WithWatch
	// operatorKubeconfig and operatorConfig are the operator's ServiceAccount, with
	// the rights that config/rbac and config/nudge give it and no others.
	operatorKubeconfig string
	operatorConfig     *rest.Config
)

// TestAgainstAPIServer runs the specs: the controller, with the rights that
// config/overlays/nudge gives it, against a real API server. Each spec has a namespace
// of its own, and a manager or a process that watches this namespace only.
func TestAgainstAPIServer(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(defaultTimeout)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyDuration(time.Second)
	SetDefaultConsistentlyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "controllers")
}

var _ = BeforeSuite(func(ctx context.Context) {
	ctrl.SetLogger(GinkgoLogr)
	klog.SetLogger(GinkgoLogr)
	plane = startPlane(ctx)
	operatorKubeconfig = install(ctx, plane, "../config/overlays/nudge")

	var err error
	admin, err = client.NewWithWatch(plane.Config, client.Options{Scheme: newScheme()})
	Expect(err).NotTo(HaveOccurred())
	operatorConfig, err = clientcmd.BuildConfigFromFlags("", operatorKubeconfig)
	Expect(err).NotTo(HaveOccurred())
})

func startPlane(ctx context.Context) *localplane.Plane {
	GinkgoHelper()
	p, err := localplane.Start(ctx, localplane.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(p.Stop)
	return p
}

// install applies an overlay and returns the kubeconfig of the operator's
// ServiceAccount. The Deployment's pods stay Pending: the operators of the specs
// run in and beside the test.
func install(ctx context.Context, p *localplane.Plane, overlay string) (kubeconfig string) {
	GinkgoHelper()
	kubectl(ctx, p, "apply", "-k", overlay)
	kubectl(ctx, p, "wait", "--for=condition=Established", "crd/servicebulkheads.servicebulkhead.io")
	kubeconfig, err := p.ServiceAccountKubeconfig(ctx, systemNamespace, "servicebulkhead-operator")
	Expect(err).NotTo(HaveOccurred())
	return kubeconfig
}

// kubectl runs the administrator's kubectl and returns what it prints.
func kubectl(ctx context.Context, p *localplane.Plane, args ...string) string {
	GinkgoHelper()
	out, err := p.KubectlCommand(ctx, args...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	return string(out)
}
