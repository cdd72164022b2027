// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/hack/localplane"
)

const (
	installDir   = "../../config/default"
	crdFile      = "../../config/crd/bases/servicebulkhead.io_servicebulkheads.yaml"
	samplesDir   = "../../config/samples"
	rulesFile    = "../../api/v1alpha1/testdata/rules.yaml"
	warningsFile = "../../api/v1alpha1/testdata/warnings.yaml"
	crdName      = "servicebulkheads.servicebulkhead.io"
)

var (
	plane *localplane.Plane
	// people are the cluster's administrator; operator is the operator's own
	// ServiceAccount, with more rights than its role gives it.
	people, operator account
	// bulkheads is where the people of the tests create them; each test uses names of
	// its own.
	bulkheads dynamic.ResourceInterface
)

func TestAdmission(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	RunSpecs(t, "Admission")
}

// Everything is installed, policies included, by client-side apply, which keeps each
// manifest in an annotation and so limits its size: D5. Nodes there are none, so the
// operator's pods never run.
var _ = BeforeSuite(func(ctx context.Context) {
	ctrl.SetLogger(GinkgoLogr)
	var err error
	plane, err = localplane.Start(ctx, localplane.Options{Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error { return plane.Stop() })

	// A pod template that the namespace's restricted Pod Security would refuse
	// causes a warning, and so does a deprecated API.
	Expect(kubectl(ctx, "apply", "-k", installDir)).NotTo(ContainSubstring("Warning"))
	kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "crd/"+crdName)
	people = newAccount(plane.Config)
	bulkheads = people.bulkheads("default")
	makeNamespace(ctx, guarded)
	operator = newOperator(ctx, guarded)
	awaitPolicies(ctx)
}, NodeTimeout(30*time.Minute)) // the binaries may have to be built

// awaitPolicies returns when the API server enforces what was installed: it learns
// of a resource and of a policy a moment after they were written.
func awaitPolicies(ctx context.Context) {
	GinkgoHelper()
	soon := func(check func(ctx context.Context) bool, what string) {
		GinkgoHelper()
		Eventually(check).WithContext(ctx).Should(BeTrue(), what)
	}
	soon(func(ctx context.Context) bool {
		warnings, err := warningsOf(ctx, object("payments", map[string]any{"limit": int64(0), "reclaimAfter": "30s"}))
		return err == nil && len(warnings) > 0
	}, "warnings")
	for _, guard := range guards {
		rule := guard.rules[0]
		soon(func(ctx context.Context) bool {
			err := rule.attempts[0].do(ctx, operator)
			return err != nil && strings.HasSuffix(err.Error(), rule.refusal)
		}, guard.policy)
	}
}

// kubectl returns what kubectl printed; when kubectl fails, so does the test.
func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	output, err := plane.KubectlCommand(ctx, args...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "kubectl %v:\n%s", args, output)
	return string(output)
}

// writeFile returns the path of a file with the text, which goes with the test.
func writeFile(name, text string) string {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), name)
	Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	return file
}

// writeManifest returns the path of a file with a bulkhead called payments.
func writeManifest(spec string) string {
	GinkgoHelper()
	return writeFile("payments.yaml", "apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkhead\nmetadata: {name: payments}\nspec: "+spec+"\n")
}

// object is a bulkhead as somebody may write it, right or wrong.
func object(name string, spec any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ServiceBulkhead"))
	u.SetName(name)
	return u
}
