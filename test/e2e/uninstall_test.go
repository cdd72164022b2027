// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("To uninstall", Label("uninstall"), last, func() {
	It("O22 leaves the ConfigMaps, pods keep their limits, new ones start, and nothing else is left or stuck", func(ctx context.Context) {
		installNudge(ctx)
		namespace := newNamespace(ctx, "uninstall")
		applyObjects(ctx, payments(namespace), service(namespace, "payments", paymentsPort), bulkhead(namespace, "payments", 3))
		applyObjects(ctx, shop(namespace, "shop", 2, serviceURL(ctx, namespace, "payments")))
		pods := ready(ctx, namespace, "shop", 2)
		inForce(ctx, pods, 3)
		before := document(ctx, namespace)

		commands := uninstallCommands()
		step(ctx, commands[0], func(ctx context.Context) { shell(ctx, commands[0]) })
		for _, command := range commands[1:] {
			By(command)
			shell(ctx, command)
		}
		installed.manifests = ""
		Expect(slices.DeleteFunc(everything(ctx), func(name string) bool { return !strings.Contains(name, "servicebulkhead") })).To(BeEmpty())
		Expect(everything(ctx, "-l", appLabel+"="+operatorApp)).To(BeEmpty())
		Expect(restored(ctx, namespace, before)).To(Succeed())
		pods = restartOne(ctx, namespace, pods)
		expectLimit(ctx, namespace, pods, 3)

		By("what is documented to stay is deleted as documented")
		shell(ctx, "kubectl delete configmap -A -l "+managedSelector)
		Expect(kubectl(ctx, "get", "configmaps", "-A", "-l", managedSelector, "-o", "name")).To(BeEmpty())
		began := time.Now()
		kubectl(ctx, "delete", "namespace", namespace, "--timeout=60s")
		note("operator", "uninstalled; the application's namespace deleted", "gone after %s", since(began))
		Eventually(terminating).WithContext(ctx).Should(BeEmpty(), "no namespace is stuck")
	}, specLimit)
})

// uninstallCommands are those of docs/install.md. The README has the same, but for what
// only some installations have.
func uninstallCommands() []string {
	GinkgoHelper()
	commands := commandsAfter("docs/install.md", "## Uninstall\n", "kubectl delete -k config/manager\n")
	for _, command := range commandsAfter("README.md", "To uninstall, ", "kubectl ") {
		Expect(commands).To(ContainElement(command), "of the README")
	}
	return commands
}

// commandsAfter are the commands of the first block of a page, after a text, that begins
// with this one.
func commandsAfter(page, text, beginning string) []string {
	GinkgoHelper()
	content, err := os.ReadFile(inRepository(page))
	Expect(err).NotTo(HaveOccurred())
	_, rest, _ := strings.Cut(string(content), text)
	_, rest, found := strings.Cut(rest, "```sh\n"+beginning)
	Expect(found).To(BeTrue(), "%s says how to uninstall", page)
	block, _, _ := strings.Cut(beginning+rest, "```")
	return strings.Split(strings.TrimSpace(block), "\n")
}

// shell runs a command as it stands on a page, in the repository.
func shell(ctx context.Context, command string) {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir = inRepository(".")
	output, err := cmd.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s\n%s", command, output)
}

// everything lists all that the API server has, of whatever kind, but for the events
// that tell of what was.
func everything(ctx context.Context, selection ...string) []string {
	GinkgoHelper()
	var kinds []string
	for kind := range strings.FieldsSeq(kubectl(ctx, "api-resources", "--verbs=list", "-o", "name")) {
		if !strings.HasPrefix(kind, "events") {
			kinds = append(kinds, kind)
		}
	}
	args := append([]string{"get", strings.Join(kinds, ","), "-A", "-o", "name", "--ignore-not-found"}, selection...)
	return strings.Fields(kubectl(ctx, args...))
}

// terminating are the suite's namespaces that are about to go.
func terminating(ctx context.Context) (names []string, err error) {
	var all corev1.NamespaceList
	err = cluster.client.List(ctx, &all, client.HasLabels{suiteLabel})
	for _, namespace := range all.Items {
		if namespace.DeletionTimestamp != nil {
			names = append(names, namespace.Name)
		}
	}
	return names, err
}

// cleanUp takes away what the run made. Whether it was as documented does not matter
// here.
func cleanUp(ctx context.Context) {
	GinkgoHelper()
	kubectl(ctx, "delete", "--ignore-not-found", "-k", inRepository(nudges))
	kubectl(ctx, "delete", "namespace", "-l", suiteLabel, "--wait=false")
}
