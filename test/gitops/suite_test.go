// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/servicebulkhead/servicebulkhead/controllers"
	"github.com/servicebulkhead/servicebulkhead/hack/localplane"
)

var (
	plane          *localplane.Plane
	operatorConfig *rest.Config
)

func TestGitOps(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyDuration(time.Second)
	SetDefaultConsistentlyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "GitOps")
}

var _ = BeforeSuite(func(ctx context.Context) {
	ctrl.SetLogger(GinkgoLogr)
	klog.SetLogger(GinkgoLogr)
	var err error
	plane, err = localplane.Start(ctx, localplane.Options{WithoutControllerManager: true, Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error { return plane.Stop() })
	kubectl(ctx, "apply", "-k", "../../config/default")
	kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "crd/servicebulkheads.servicebulkhead.io")

	file, err := plane.ServiceAccountKubeconfig(ctx, "servicebulkhead-system", "servicebulkhead-operator")
	Expect(err).NotTo(HaveOccurred())
	operatorConfig, err = clientcmd.BuildConfigFromFlags("", file)
	Expect(err).NotTo(HaveOccurred())
	// A new resource is established a moment before it is served.
	Eventually(func(ctx context.Context) error {
		return plane.KubectlCommand(ctx, "get", "sbh", "-A").Run()
	}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
}, NodeTimeout(30*time.Minute)) // the binaries may have to be built

// startOperator runs the operator for one namespace until the spec ends or stop is
// called.
func startOperator(namespace string) (stop func()) {
	GinkgoHelper()
	o := controllers.Options{Namespaces: []string{namespace}}
	options := controllers.ManagerOptions(o)
	options.Controller.SkipNameValidation = new(true) // one after the other, in one process
	mgr, err := ctrl.NewManager(operatorConfig, options)
	Expect(err).NotTo(HaveOccurred())
	Expect(controllers.Setup(mgr, o)).To(Succeed())

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		Eventually(ended).Should(Receive(BeNil()))
	})
	DeferCleanup(stop)
	return stop
}

// kubectl returns what the administrator's kubectl printed; when it fails, so does
// the test.
func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	output, err := plane.KubectlCommand(ctx, args...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "kubectl %v:\n%s", args, output)
	return string(output)
}

// newNamespace makes a namespace of the spec's own. Without a controller manager
// it would never go; the plane does.
func newNamespace(ctx context.Context, name string) string {
	GinkgoHelper()
	kubectl(ctx, "create", "namespace", name)
	return name
}

// manifest writes a file, as it would lie in Git.
func manifest(text string) string {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "manifest.yaml")
	Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	return file
}

// payments is a bulkhead for a service of this name, with the rest of its spec.
func payments(object, spec string) string {
	GinkgoHelper()
	return manifest("apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkhead\nmetadata: {name: " + object + "}\n" +
		"spec: {service: payments, " + spec + "}\n")
}
