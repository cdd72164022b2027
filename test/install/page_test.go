// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"

	"github.com/servicebulkhead/servicebulkhead/hack/localplane"
)

// needNode are the commands of the page that wait for pods to run.
var needNode = []string{
	"kubectl -n servicebulkhead-system rollout status deployment/servicebulkhead-operator",
}

// section is a part of the page and its commands.
type section struct {
	title    string
	commands []string
}

// What the page says is done here, in its order, and the state is looked at on the
// way.
var _ = Describe("The page on installing", Ordered, func() {
	var (
		plane    *localplane.Plane
		operator *gexec.Session
		sections []section
	)
	kubectl := func(ctx context.Context, args ...string) string {
		GinkgoHelper()
		return kubectl(ctx, plane, args...)
	}
	// follow does what a section says, up to the next of its commands that has the
	// text; without one, to the end.
	follow := func(ctx context.Context, title, until string) {
		GinkgoHelper()
		i := slices.IndexFunc(sections, func(s section) bool { return s.title == title })
		Expect(i).To(BeNumerically(">=", 0), "no section "+title)
		commands := sections[i].commands
		if until != "" {
			n := slices.IndexFunc(commands, func(command string) bool { return strings.Contains(command, until) })
			Expect(n).To(BeNumerically(">=", 0), "no command "+until)
			sections[i].commands = commands[n:]
			commands = commands[:n]
		} else {
			sections[i].commands = nil
		}
		Expect(commands).NotTo(BeEmpty())
		for _, command := range commands {
			run(ctx, plane, command)
		}
	}
	documents := func(ctx context.Context) string {
		GinkgoHelper()
		return kubectl(ctx, "get", "configmaps", "-A", "-l", "servicebulkhead.io/managed=true", "-o", "jsonpath={.items[*].data}")
	}

	BeforeAll(func(ctx context.Context) {
		sections = readPage()
		plane = startPlane(ctx)
	}, NodeTimeout(30*time.Minute)) // the binaries may have to be built

	It("installs, client-side, and install.yaml changes nothing but the image", func(ctx context.Context) {
		follow(ctx, "Install", "sed ")
		before := generations(ctx, plane)
		Expect(before).To(ContainElement(HavePrefix("Deployment " + operatorName)))
		kubectl(ctx, "apply", "-f", root+"/config/install.yaml")
		Expect(generations(ctx, plane)).To(Equal(before))
		Expect(diff(ctx, plane)).To(BeEmpty())

		follow(ctx, "Install", "config/samples")
		Expect(diff(ctx, plane)).To(ContainSubstring("REGISTRY/servicebulkhead-operator:TAG"))
		kubectl(ctx, "apply", "-f", root+"/config/install.yaml")
	})

	It("installs, server-side", func(ctx context.Context) {
		kubectl(ctx, "apply", "--server-side", "-f", root+"/config/install.yaml")
		before := generations(ctx, plane)
		kubectl(ctx, "apply", "--server-side", "-f", root+"/config/install.yaml")
		Expect(generations(ctx, plane)).To(Equal(before))
		Expect(diff(ctx, plane, "--server-side")).To(BeEmpty())
	})

	It("shows that it works", func(ctx context.Context) {
		operator = startOperator(ctx, plane, systemNamespace) // in the place of the Deployment's pods
		follow(ctx, "Install", "")
		Expect(documents(ctx)).To(And(ContainSubstring("payments"), ContainSubstring("search")))
	})

	It("shows who works, and opens the metrics", func(ctx context.Context) {
		follow(ctx, "High availability", "")
		addPrometheusOperator(ctx, plane)
		follow(ctx, "Metrics and alerts", "")
	})

	It("lets pods follow in a second, and takes that away", func(ctx context.Context) {
		account := "--as=system:serviceaccount:" + systemNamespace + ":" + operatorName
		// What can-i prints is an exit code as well.
		mayPatch := func(ctx context.Context) string {
			out, _ := plane.KubectlCommand(ctx, "auth", "can-i", "patch", "pods", "--subresource=status", "-A", account).Output()
			return strings.TrimSpace(string(out))
		}
		args := func(ctx context.Context) string {
			GinkgoHelper()
			return kubectl(ctx, "-n", systemNamespace, "get", "deployment", operatorName, "-o", "jsonpath={..args}")
		}
		Expect(mayPatch(ctx)).To(Equal("no"))
		follow(ctx, "Let pods follow in a second", "config/default")
		Expect(args(ctx)).To(ContainSubstring("--nudge"))
		Eventually(mayPatch).WithContext(ctx).Should(Equal("yes"))
		follow(ctx, "Let pods follow in a second", "")
		Expect(args(ctx)).NotTo(ContainSubstring("--nudge"))
		Eventually(mayPatch).WithContext(ctx).Should(Equal("no"))
	})

	It("upgrades without a write to a document", func(ctx context.Context) {
		before := documents(ctx)
		follow(ctx, "Upgrade", "")
		Expect(documents(ctx)).To(Equal(before))
	})

	It("installs for one namespace, and takes that away", func(ctx context.Context) {
		follow(ctx, "One namespace only", "delete -k")
		kubectl(ctx, "-n", "shop", "get", "deployment", operatorName)
		kubectl(ctx, "-n", "shop", "get", "role,rolebinding", nudgeName)
		follow(ctx, "One namespace only", "")
		Expect(kubectl(ctx, "-n", "shop", "get", "deployments,roles,rolebindings", "-o", "name")).To(BeEmpty())
		kubectl(ctx, "-n", "shop", "get", "sbh", "payments")
	})

	It("bounds what a tenant may declare", func(ctx context.Context) {
		follow(ctx, "What a namespace's tenants can do", "") // the quota controller counts new resources within minutes
	})

	It("throws the kill switch, and lifts it", func(ctx context.Context) {
		follow(ctx, "The kill switch, in a hurry", `"limit":25`)
		const off = `\"limit\": 0` // the document is a string in JSON
		Eventually(documents).WithContext(ctx).Should(ContainSubstring(off))
		follow(ctx, "The kill switch, in a hurry", "")
		Eventually(documents).WithContext(ctx).ShouldNot(ContainSubstring(off))
	})

	It("O22: uninstalls, keeps the documents until they are deleted, and leaves nothing", func(ctx context.Context) {
		before := documents(ctx)
		follow(ctx, "Uninstall", "-k config/rbac")
		operator.Terminate() // it stood in for the pods that are gone now
		Eventually(operator).Should(gexec.Exit(0))
		follow(ctx, "Uninstall", "delete configmap")
		Expect(documents(ctx)).To(Equal(before))
		for _, o := range objects(ctx, "config/default") {
			out, _ := plane.KubectlCommand(ctx, "get", o.Kind, "-A", "-o", "name", "--field-selector=metadata.name="+o.Metadata.Name).Output()
			Expect(string(out)).To(BeEmpty())
		}
		follow(ctx, "Uninstall", "")
		Expect(documents(ctx)).To(BeEmpty())
		kubectl(ctx, "delete", "namespace", "shop", "--timeout=60s")
	})

	AfterAll(func() {
		if operator != nil {
			operator.Terminate().Wait()
		}
		for _, s := range sections {
			Expect(s.commands).To(BeEmpty(), "nobody has followed all of "+s.title)
		}
	})
})

// readPage returns the sections that have commands, but for those commands that
// cannot be run here.
func readPage() (sections []section) {
	GinkgoHelper()
	text, err := os.ReadFile(root + "/docs/install.md")
	Expect(err).NotTo(HaveOccurred())
	inside, left := false, slices.Clone(needNode)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		title, heading := strings.CutPrefix(line, "## ")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```sh"
		case heading:
			sections = append(sections, section{title: title})
		case inside && !slices.Contains(needNode, line):
			last := &sections[len(sections)-1]
			last.commands = append(last.commands, line)
		case inside:
			left = slices.DeleteFunc(left, func(command string) bool { return command == line })
		}
	}
	Expect(left).To(BeEmpty(), "the page does not have these commands any more")
	return sections
}

// addPrometheusOperator installs the resources of the Prometheus operator, made from
// its types, which the module of hack/rules knows.
func addPrometheusOperator(ctx context.Context, plane *localplane.Plane) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	generate := exec.CommandContext(ctx, "go", "tool", "-modfile=../tools/go.mod", "controller-gen", "crd:maxDescLen=0",
		"paths=github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1", "output:crd:dir="+dir)
	generate.Dir = root + "/hack/rules"
	output, err := generate.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	for _, plural := range []string{"prometheusrules", "servicemonitors"} {
		kubectl(ctx, plane, "create", "-f", dir+"/monitoring.coreos.com_"+plural+".yaml")
		kubectl(ctx, plane, "wait", "--for=condition=Established", "--timeout=60s", "crd/"+plural+".monitoring.coreos.com")
	}
}

// run runs a line of the page as somebody would who sits in the repository.
func run(ctx context.Context, plane *localplane.Plane, command string) {
	GinkgoHelper()
	By(command)
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", command)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "KUBECONFIG="+plane.KubeconfigFile,
		"PATH="+plane.Assets+string(os.PathListSeparator)+os.Getenv("PATH"), "KUBECTL_EXTERNAL_DIFF="+gitDiff())
	output, err := cmd.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s\n%s", command, output)
	for line := range strings.Lines(string(output)) {
		risk := strings.Contains(line, "'servicebulkhead-risks'") // the samples' Shadow, the kill switch: as meant
		Expect(strings.HasPrefix(line, "Warning") && !risk).To(BeFalse(), "%s\n%s", command, line)
	}
}

// diff returns what applying install.yaml would change.
func diff(ctx context.Context, plane *localplane.Plane, flags ...string) string {
	GinkgoHelper()
	cmd := plane.KubectlCommand(ctx, append([]string{"diff", "-f", root + "/config/install.yaml"}, flags...)...)
	cmd.Env = append(os.Environ(), "KUBECTL_EXTERNAL_DIFF="+gitDiff())
	output, err := cmd.CombinedOutput()
	Expect(err == nil).To(Equal(len(output) == 0), "%v %s", err, output) // a difference is an exit code
	return string(output)
}

// gitDiff is a command that compares two folders: diff need not be there where git is.
func gitDiff() string {
	GinkgoHelper()
	file := GinkgoT().TempDir() + "/diff"
	Expect(os.WriteFile(file, []byte("#!/usr/bin/env bash\nexec git diff --no-index \"$@\"\n"), 0o700)).To(Succeed())
	return file
}

// generations tell whether the specification of what was installed has changed.
func generations(ctx context.Context, plane *localplane.Plane) []string {
	GinkgoHelper()
	text := kubectl(ctx, plane, "get", "-f", root+"/config/install.yaml", "-o",
		`jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.generation} {.metadata.uid}{"\n"}{end}`)
	return strings.Split(strings.TrimSpace(text), "\n")
}
