// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/hack/localplane"
)

const (
	crdFile      = "../../config/crd/bases/servicebulkhead.io_servicebulkheads.yaml"
	warnPolicy   = "../../config/policies/risks.yaml"
	warningsFile = "../../api/v1alpha1/testdata/warnings.yaml"
	namespace    = "default"
)

// server talks to the API server in bytes: no client may mend, on the way, what is
// wrong with them.
var server *rest.RESTClient

func TestDifferential(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	RegisterFailHandler(Fail)
	RunSpecs(t, "Differential")
}

var _ = BeforeSuite(func(ctx context.Context) {
	plane, err := localplane.Start(ctx, localplane.Options{WithoutControllerManager: true, Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error { return plane.Stop() })

	for _, args := range [][]string{
		{"apply", "-f", crdFile, "-f", warnPolicy},
		{"wait", "--for=condition=Established", "--timeout=60s", "crd/servicebulkheads.servicebulkhead.io"},
	} {
		output, err := plane.KubectlCommand(ctx, args...).CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(output))
	}
	server, err = rest.RESTClientFor(bytesConfig(plane.Config))
	Expect(err).NotTo(HaveOccurred())
	// A new resource is established a moment before it is served.
	Eventually(func(ctx context.Context) error {
		return server.Get().Namespace(namespace).Resource("servicebulkheads").Do(ctx).Error()
	}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
}, NodeTimeout(30*time.Minute)) // the binaries may have to be built

func bytesConfig(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &v1alpha1.GroupVersion, "/apis"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.QPS = -1                           // as fast as the API server answers
	config.WarningHandler = rest.NoWarnings{} // the answers have them
	return config
}

// tryToCreate asks the API server about a creation, strictly, and leaves nothing
// behind.
func tryToCreate(ctx context.Context, text string) (answer, error) {
	return answered(server.Post().Namespace(namespace).Resource("servicebulkheads").
		Param("dryRun", metav1.DryRunAll).Param("fieldValidation", metav1.FieldValidationStrict).
		SetHeader("Content-Type", "application/json").Body([]byte(text)).Do(ctx))
}
