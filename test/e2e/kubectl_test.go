// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"
)

// kubectl returns what kubectl printed, without its warnings; when it fails, so does
// the test.
func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	command := exec.CommandContext(ctx, "kubectl", args...)
	var warnings bytes.Buffer
	command.Stderr = &warnings
	output, err := command.Output()
	Expect(err).NotTo(HaveOccurred(), "kubectl %s:\n%s%s", strings.Join(args, " "), output, &warnings)
	return string(output)
}

// refused returns what kubectl printed when it failed; when it does not, the test does.
func refused(ctx context.Context, manifest string, args ...string) string {
	GinkgoHelper()
	output, err := runKubectl(ctx, manifest, args...)
	Expect(err).To(HaveOccurred(), "kubectl %s was not refused:\n%s", strings.Join(args, " "), output)
	return output
}

// apply applies manifests as one file, server-side, and returns what kubectl printed.
func apply(ctx context.Context, manifests string) string {
	GinkgoHelper()
	output, err := runKubectl(ctx, manifests, "apply", "--server-side", "--force-conflicts", "--field-manager="+fieldManager, "-f", "-")
	Expect(err).NotTo(HaveOccurred(), "kubectl apply:\n%s", output)
	return output
}

// applyObjects applies objects, as apply does.
func applyObjects(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	apply(ctx, manifestsOf(objects...))
}

// manifestsOf writes objects as people write them: one after the other in one file.
func manifestsOf(objects ...client.Object) string {
	GinkgoHelper()
	var file bytes.Buffer
	for _, object := range objects {
		kind, err := apiutil.GVKForObject(object, cluster.client.Scheme())
		Expect(err).NotTo(HaveOccurred())
		object.GetObjectKind().SetGroupVersionKind(kind)
		text, err := yaml.Marshal(object)
		Expect(err).NotTo(HaveOccurred())
		file.WriteString("---\n")
		file.Write(text)
	}
	return file.String()
}

// runKubectl returns all that kubectl printed, and whether it failed.
func runKubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "kubectl", args...)
	command.Stdin = strings.NewReader(stdin)
	output, err := command.CombinedOutput()
	return string(output), err
}
