// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/servicebulkhead/servicebulkhead/hack/localplane"
)

// The cluster's administrator has installed what is the cluster's. In namespace shop
// there is somebody with each of the cluster's roles, called as the role is.
var _ = Describe("In a namespace, without the cluster's rights", Ordered, func() {
	// Each can do what the ones before it can.
	roles := []string{"view", "edit", "admin"}
	var (
		plane  *localplane.Plane
		people = map[string]string{} // kubeconfigs
	)
	// as is kubectl in the hands of a tenant. The error has what kubectl printed.
	as := func(ctx context.Context, who string, args ...string) (string, error) {
		GinkgoHelper()
		cmd := plane.KubectlCommand(ctx, args...)
		cmd.Args[2] = people[who] // instead of the administrator's
		output, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, output)
		}
		return string(output), err
	}

	BeforeAll(func(ctx context.Context) {
		plane = startPlane(ctx)
		kubectl(ctx, plane, "apply", "-k", root+"/config/overlays/namespaced/cluster")
		kubectl(ctx, plane, "wait", "--for=condition=Established", "crd/"+crdName)
		kubectl(ctx, plane, "create", "namespace", "shop")
		kubectl(ctx, plane, "create", "namespace", "billing")
		for _, role := range roles {
			user, err := plane.User(role, "shop-"+role+"s")
			Expect(err).NotTo(HaveOccurred())
			people[role] = user.KubeconfigFile
			kubectl(ctx, plane, "-n", "shop", "create", "rolebinding", role, "--clusterrole="+role, "--group=shop-"+role+"s")
		}
		// The roles are put together by a controller.
		Eventually(func(ctx context.Context) error {
			_, err := as(ctx, "admin", "-n", "shop", "get", "sbh")
			return err
		}).WithContext(ctx).Should(Succeed())
	}, NodeTimeout(30*time.Minute))

	DescribeTable("the page's table is right:",
		func(ctx context.Context, request, least string) {
			i := slices.Index(roles, least)
			for j, who := range roles {
				answer, _ := as(ctx, who, append([]string{"auth", "can-i"}, strings.Fields(request)...)...) // "no" is an exit code too
				answer = strings.TrimSpace(answer[strings.LastIndex(strings.TrimSpace(answer), "\n")+1:])   // behind a warning that a resource is the cluster's
				Expect(answer).To(Equal(map[bool]string{true: "yes", false: "no"}[i >= 0 && j >= i]), who)
			}
		},
		Entry(nil, "get servicebulkheads -n shop", "view"),
		Entry(nil, "get configmaps -n shop", "view"),
		Entry(nil, "create servicebulkheads -n shop", "edit"),
		Entry(nil, "patch servicebulkheads -n shop", "edit"),
		Entry(nil, "delete servicebulkheads -n shop", "edit"),
		Entry(nil, "patch servicebulkheads --subresource=status -n shop", "nobody"),
		Entry(nil, "update servicebulkheads --subresource=status -n shop", "nobody"),
		Entry(nil, "patch configmaps -n shop", "edit"),
		Entry(nil, "patch customresourcedefinitions", "nobody"),
		Entry(nil, "delete validatingadmissionpolicies", "nobody"),
		Entry(nil, "patch deployments -n servicebulkhead-system", "nobody"),
		Entry(nil, "get servicebulkheads -n billing", "nobody"),
		Entry(nil, "create servicebulkheads -n billing", "nobody"),
	)

	It("an admin cannot install an operator before the cluster's administrator allows it", func(ctx context.Context) {
		_, err := as(ctx, "admin", "apply", "-k", root+"/config/overlays/namespaced")
		Expect(err).To(MatchError(ContainSubstring("is attempting to grant RBAC permissions not currently held")))
	})

	It("an admin installs an operator, which works there and nowhere else", func(ctx context.Context) {
		kubectl(ctx, plane, "-n", "shop", "create", "rolebinding", "servicebulkhead-installer",
			"--clusterrole=servicebulkhead-installer", "--group=shop-admins")
		Eventually(func(ctx context.Context) error { // the authorizer learns of it a moment later
			_, err := as(ctx, "admin", "apply", "-k", root+"/config/overlays/namespaced")
			return err
		}).WithContext(ctx).Should(Succeed())

		operator := startOperator(ctx, plane, "shop", "--namespaces=shop")
		DeferCleanup(func() { operator.Terminate().Wait() })
		kubectl(ctx, plane, "-n", "billing", "apply", "-f", bulkhead("payments"))
		_, err := as(ctx, "edit", "-n", "shop", "apply", "-f", bulkhead("payments"))
		Expect(err).NotTo(HaveOccurred())
		_, err = as(ctx, "edit", "-n", "shop", "wait", "--for=condition=Ready", "sbh/payments", "--timeout=60s")
		Expect(err).NotTo(HaveOccurred())
		_, err = as(ctx, "view", "-n", "shop", "get", "configmap", "service-bulkheads")
		Expect(err).NotTo(HaveOccurred())
		Expect(kubectl(ctx, plane, "-n", "billing", "get", "configmaps", "-l", "servicebulkhead.io/managed=true", "-o", "name")).To(BeEmpty())
	})

	It("an admin lets pods be nudged, once the cluster's administrator allows it", func(ctx context.Context) {
		install := func(ctx context.Context) error {
			_, err := as(ctx, "admin", "apply", "-k", root+"/config/overlays/namespaced-nudge")
			return err
		}
		Expect(install(ctx)).To(MatchError(ContainSubstring("is attempting to grant RBAC permissions not currently held")))
		kubectl(ctx, plane, "-n", "shop", "create", "rolebinding", "servicebulkhead-nudge-installer",
			"--clusterrole=servicebulkhead-nudge-installer", "--group=shop-admins")
		Eventually(install).WithContext(ctx).Should(Succeed())
		account := "--as=system:serviceaccount:shop:" + operatorName
		Eventually(func(ctx context.Context) string {
			return kubectl(ctx, plane, "-n", "shop", "auth", "can-i", "patch", "pods", "--subresource=status", account)
		}).WithContext(ctx).Should(ContainSubstring("yes"))
		_, err := plane.KubectlCommand(ctx, "-n", "billing", "auth", "can-i", "patch", "pods", "--subresource=status", account).Output()
		Expect(err).To(HaveOccurred(), "no is an exit code")
	})

	It("the operator is held to its work by the guards, wherever it is", func(ctx context.Context) {
		// With its admin's rights, so that nothing but the guard stands in the way.
		kubectl(ctx, plane, "-n", "shop", "create", "rolebinding", "too-much", "--clusterrole=admin", "--serviceaccount=shop:"+operatorName)
		_, err := as(ctx, "admin", "-n", "shop", "create", "configmap", "settings", "--from-literal=a=b")
		Expect(err).NotTo(HaveOccurred())
		people["operator"], err = plane.ServiceAccountKubeconfig(ctx, "shop", operatorName)
		Expect(err).NotTo(HaveOccurred())
		Eventually(func(ctx context.Context) error {
			_, err := as(ctx, "operator", "-n", "shop", "delete", "configmap", "settings", "--dry-run=server")
			return err
		}).WithContext(ctx).Should(MatchError(ContainSubstring("the operator deletes no ConfigMap")))
	})

	It("the admin takes the operator away", func(ctx context.Context) {
		_, err := as(ctx, "admin", "delete", "-k", root+"/config/overlays/namespaced-nudge", "--timeout=60s")
		Expect(err).NotTo(HaveOccurred())
		kubectl(ctx, plane, "-n", "shop", "get", "sbh", "payments")
		kubectl(ctx, plane, "-n", "shop", "get", "configmap", "service-bulkheads")
	})
})

// bulkhead returns the path of a manifest.
func bulkhead(name string) string {
	GinkgoHelper()
	file := GinkgoT().TempDir() + "/bulkhead.yaml"
	text := "apiVersion: servicebulkhead.io/v1alpha1\nkind: ServiceBulkhead\nmetadata: {name: " + name + "}\nspec: {limit: 1, reclaimAfter: 30s}\n"
	Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	return file
}
