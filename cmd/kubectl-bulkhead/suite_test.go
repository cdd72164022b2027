// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/servicebulkhead/servicebulkhead/cmd/kubectl-bulkhead/internal/cli"
	"github.com/servicebulkhead/servicebulkhead/hack/localplane"
)

const crd = "../../config/crd/bases/servicebulkhead.io_servicebulkheads.yaml"

var plane *localplane.Plane

func TestPlugin(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "kubectl bulkhead")
}

var _ = BeforeSuite(func(ctx context.Context) {
	var err error
	plane, err = localplane.Start(ctx, localplane.Options{WithoutControllerManager: true, Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(plane.Stop)
	for _, args := range [][]string{
		{"apply", "-f", crd},
		{"wait", "--for=condition=Established", "--timeout=60s", "crd/servicebulkheads.servicebulkhead.io"},
	} {
		output, err := plane.KubectlCommand(ctx, args...).CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "kubectl %v:\n%s", args, output)
	}
	Eventually(func(ctx context.Context) bool { return apply(ctx, right).accepted }).
		WithContext(ctx).WithTimeout(time.Minute).Should(BeTrue(), "what is right, once the new kind is served")
}, NodeTimeout(30*time.Minute)) // the binaries may have to be built

// verdict is what somebody says to a manifest.
type verdict struct {
	accepted bool
	words    string
}

// apply asks kubectl and the API server; nothing is stored.
func apply(ctx context.Context, manifest string) verdict {
	command := plane.KubectlCommand(ctx, "apply", "--dry-run=server", "-f", "-")
	command.Stdin = strings.NewReader(manifest)
	output, err := command.CombinedOutput()
	return verdict{accepted: err == nil, words: string(output)}
}

// check asks the offline check.
func check(manifest string) verdict {
	var output bytes.Buffer
	code := cli.Run([]string{"validate", "-f", "-"}, strings.NewReader(manifest), &output, &output)
	return verdict{accepted: code == 0, words: output.String()}
}

var _ = Describe("kubectl", func() {
	It("finds the plugin and passes its exit code on", func(ctx context.Context) {
		dir := GinkgoT().TempDir()
		output, err := exec.CommandContext(ctx, "go", "build", "-o", dir+"/kubectl-bulkhead", ".").CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "%s", output)

		command := exec.CommandContext(ctx, plane.Kubectl(), "bulkhead", "validate", "-n", "shop", "-f", "-")
		command.Env = append(os.Environ(), "PATH="+dir)
		command.Stdin = strings.NewReader(bulkhead("limit: -1, reclaimAfter: 30s"))
		output, err = command.Output()
		Expect(string(output)).To(HavePrefix("<stdin>:4: ServiceBulkhead shop/payments: spec.limit: Invalid value: -1: "))
		Expect(err).To(HaveOccurred())
		Expect(command.ProcessState.ExitCode()).To(Equal(1))
	})
})
