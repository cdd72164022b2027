// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/hack/localplane"
)

const (
	crdFile     = "../../config/crd/bases/servicebulkhead.io_servicebulkheads.yaml"
	samplesDir  = "../../config/samples"
	rulesFile   = "../../api/v1alpha1/testdata/rules.yaml"
	crdResource = "crd/servicebulkheads.servicebulkhead.io"
)

var (
	plane *localplane.Plane
	// bulkheads is where the tests create them; each test uses names of its own.
	bulkheads dynamic.ResourceInterface
)

func TestAdmission(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Admission")
}

// The CRD is installed by client-side apply, which keeps the whole manifest in an
// annotation and so limits its size: D5.
var _ = BeforeSuite(func(ctx context.Context) {
	var err error
	plane, err = localplane.Start(ctx, localplane.Options{WithoutControllerManager: true, Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error { return plane.Stop() })

	kubectl(ctx, "apply", "-f", crdFile)
	kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", crdResource)
	client, err := dynamic.NewForConfig(plane.Config)
	Expect(err).NotTo(HaveOccurred())
	bulkheads = client.Resource(v1alpha1.GroupVersion.WithResource("servicebulkheads")).Namespace("default")
	// A new resource is established a moment before it is served.
	Eventually(func(ctx context.Context) error {
		_, err := bulkheads.List(ctx, metav1.ListOptions{})
		return err
	}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
}, NodeTimeout(30*time.Minute)) // the binaries may have to be built

// kubectl returns what kubectl printed; when kubectl fails, so does the test.
func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	output, err := plane.KubectlCommand(ctx, args...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "kubectl %v:\n%s", args, output)
	return string(output)
}

// object is a bulkhead as somebody may write it, right or wrong.
func object(name string, spec any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ServiceBulkhead"))
	u.SetName(name)
	return u
}
