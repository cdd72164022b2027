// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"os/exec"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/servicebulkhead/servicebulkhead/hack/localplane"
)

const (
	root            = "../.."
	systemNamespace = "servicebulkhead-system"
	operatorName    = "servicebulkhead-operator"
	nudgeName       = operatorName + "-nudge"
	crdName         = "servicebulkheads.servicebulkhead.io"
)

// operatorBinary is the path of the operator, as built for this suite.
var operatorBinary string

func TestInstall(t *testing.T) {
	RegisterFailHandler(Fail)
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "Install")
}

var _ = BeforeSuite(func() {
	ctrl.SetLogger(GinkgoLogr)
	klog.SetLogger(GinkgoLogr)
	var err error
	operatorBinary, err = gexec.Build("github.com/servicebulkhead/servicebulkhead/cmd/operator")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(gexec.CleanupBuildArtifacts)
})

// startPlane starts a control plane of the container's own: installations are the
// cluster's, so that two of them would be in each other's way.
func startPlane(ctx context.Context) *localplane.Plane {
	GinkgoHelper()
	plane, err := localplane.Start(ctx, localplane.Options{Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(plane.Stop)
	return plane
}

// kubectl returns what the administrator's kubectl printed; when it fails, so does
// the test.
func kubectl(ctx context.Context, plane *localplane.Plane, args ...string) string {
	GinkgoHelper()
	output, err := plane.KubectlCommand(ctx, args...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "kubectl %v:\n%s", args, output)
	return string(output)
}

// startOperator runs the operator with the rights of a ServiceAccount. The caller
// terminates it. The flags come last, and so win.
func startOperator(ctx context.Context, plane *localplane.Plane, namespace string, flags ...string) *gexec.Session {
	GinkgoHelper()
	kubeconfig, err := plane.ServiceAccountKubeconfig(ctx, namespace, operatorName)
	Expect(err).NotTo(HaveOccurred())
	args := append([]string{
		"--kubeconfig=" + kubeconfig, "--leader-election-namespace=" + namespace,
		"--health-probe-bind-address=0", "--metrics-bind-address=0",
	}, flags...)
	session, err := gexec.Start(exec.Command(operatorBinary, args...), GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	return session
}
