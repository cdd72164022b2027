// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Some specs have to run before others: what takes a kubelet's own time begins
// early, and what shows that nothing happens comes late. All others have priority 0.
const (
	first     = SpecPriority(30)
	early     = SpecPriority(20)
	late      = SpecPriority(-10)
	later     = SpecPriority(-20)
	last      = SpecPriority(-30)
	specLimit = NodeTimeout(5 * time.Minute)
)

func TestE2E(t *testing.T) {
	RegisterFailHandler(Fail)
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	SetDefaultConsistentlyDuration(2 * time.Second)
	SetDefaultConsistentlyPollingInterval(200 * time.Millisecond)
	RunSpecs(t, "End to end")
}

var _ = BeforeSuite(func(ctx context.Context) {
	ctrl.SetLogger(GinkgoLogr)
	klog.SetLogger(GinkgoLogr)
	connect()
	refuseForeignInstallation(ctx)
	ours = true
	installPlain(ctx)
}, NodeTimeout(3*time.Minute))

var _ = AfterSuite(func(ctx context.Context) {
	noteKills()
	endLasting()
	if ours && !keep() {
		cleanUp(ctx)
	}
}, NodeTimeout(3*time.Minute))

// ours says that whatever is installed from now on is the suite's, to be taken away
// in the end.
var ours bool

// setting is a variable of the environment, or what stands for it.
func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// inRepository is the path of a file of the repository, wherever the suite's binary
// was started in it.
func inRepository(path string) string {
	GinkgoHelper()
	dir, err := os.Getwd()
	Expect(err).NotTo(HaveOccurred())
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "config", "install.yaml")); err == nil {
			return filepath.Join(dir, path)
		}
	}
	Fail("start the suite somewhere in the repository: config/install.yaml is neither here nor above")
	return ""
}

// lasting is the context of what goes on until the run ends.
var lasting, endLasting = context.WithCancel(context.Background())
