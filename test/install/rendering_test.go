// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/servicebulkhead/servicebulkhead/hack/assets"
)

var _ = Describe("The rendered manifests", func() {
	It("of config/default are config/install.yaml", func(ctx context.Context) {
		file, err := os.ReadFile(root + "/config/install.yaml")
		Expect(err).NotTo(HaveOccurred())
		_, manifests, _ := bytes.Cut(file, []byte("\n")) // the comment that says where it comes from
		Expect(string(manifests)).To(Equal(string(render(ctx, "config/default"))))
	})

	DescribeTable("start an operator that knows its flags",
		func(ctx context.Context, dir string) {
			var deployment appsv1.Deployment
			find(ctx, dir, "Deployment", operatorName, &deployment)
			container := deployment.Spec.Template.Spec.Containers[0]
			var args []string
			for _, arg := range container.Args {
				args = append(args, strings.ReplaceAll(arg, "$(NAMESPACE)", "shop")) // as a kubelet does
			}
			Expect(strings.Join(args, " ")).NotTo(ContainSubstring("$("))
			output, err := exec.CommandContext(ctx, operatorBinary, append(args, "--version")...).CombinedOutput()
			Expect(err).NotTo(HaveOccurred(), string(output))
		},
		Entry(nil, "config/default"),
		Entry(nil, "config/overlays/namespaced"),
		Entry(nil, "config/overlays/nudge"),
		Entry(nil, "config/overlays/namespaced-nudge"),
	)

	It("give an operator for one namespace the rights of the cluster's, but for what only a cluster has", func(ctx context.Context) {
		var everywhere rbacv1.ClusterRole
		var own, one rbacv1.Role
		find(ctx, "config/default", "ClusterRole", operatorName, &everywhere)
		find(ctx, "config/default", "Role", operatorName, &own)
		find(ctx, "config/overlays/namespaced", "Role", operatorName, &one)
		inOne := slices.DeleteFunc(everywhere.Rules, func(rule rbacv1.PolicyRule) bool {
			return slices.Contains([]string{"authentication.k8s.io", "authorization.k8s.io"}, rule.APIGroups[0])
		})
		Expect(one.Rules).To(ConsistOf(append(inOne, own.Rules...)))
	})

	DescribeTable("put nothing of a cluster's into one namespace",
		func(ctx context.Context, dir string) {
			for _, object := range objects(ctx, dir) {
				Expect(object.Metadata.Namespace).To(Equal("shop"), object.Kind+" "+object.Metadata.Name)
			}
		},
		Entry(nil, "config/overlays/namespaced"),
		Entry(nil, "config/overlays/namespaced-nudge"),
	)

	DescribeTable("let pods be nudged by a flag and a role beside all else",
		func(ctx context.Context, with, without, kind string) {
			added := slices.DeleteFunc(objects(ctx, with), func(o object) bool {
				return slices.ContainsFunc(objects(ctx, without), func(other object) bool { return bytes.Equal(o.text, other.text) })
			})
			var names []string
			for _, o := range added {
				names = append(names, o.Kind+" "+o.Metadata.Name)
			}
			Expect(names).To(ConsistOf(kind+" "+nudgeName, kind+"Binding "+nudgeName, "Deployment "+operatorName))
			Expect(added).To(HaveLen(len(objects(ctx, with)) - len(objects(ctx, without)) + 1))
			var before, after appsv1.Deployment
			find(ctx, without, "Deployment", operatorName, &before)
			find(ctx, with, "Deployment", operatorName, &after)
			args := &before.Spec.Template.Spec.Containers[0].Args
			Expect(*args).NotTo(ContainElement(HavePrefix("--nudge")))
			*args = append(*args, "--nudge")
			Expect(after).To(Equal(before))
		},
		Entry(nil, "config/overlays/nudge", "config/default", "ClusterRole"),
		Entry(nil, "config/overlays/namespaced-nudge", "config/overlays/namespaced", "Role"),
	)

	It("let an operator for one namespace nudge with the rights of the cluster's", func(ctx context.Context) {
		var everywhere rbacv1.ClusterRole
		var one rbacv1.Role
		find(ctx, "config/overlays/nudge", "ClusterRole", nudgeName, &everywhere)
		find(ctx, "config/overlays/namespaced-nudge", "Role", nudgeName, &one)
		Expect(one.Rules).To(Equal(everywhere.Rules))
		Expect(one.Rules).NotTo(BeEmpty())
	})
})

// object is what all manifests have.
type object struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	text     []byte // in JSON
}

// objects are the manifests of a folder.
func objects(ctx context.Context, dir string) (all []object) {
	GinkgoHelper()
	for document := range bytes.SplitSeq(render(ctx, dir), []byte("\n---\n")) {
		text, err := yaml.ToJSON(document)
		Expect(err).NotTo(HaveOccurred())
		o := object{text: text}
		Expect(json.Unmarshal(text, &o)).To(Succeed())
		all = append(all, o)
	}
	Expect(len(all)).To(BeNumerically(">", 3))
	return all
}

// find reads one of the manifests of a folder.
func find(ctx context.Context, dir, kind, name string, into any) {
	GinkgoHelper()
	for _, o := range objects(ctx, dir) {
		if o.Kind == kind && o.Metadata.Name == name {
			Expect(json.Unmarshal(o.text, into)).To(Succeed())
			return
		}
	}
	Fail(dir + " has no " + kind + " " + name)
}

// render returns what kubectl would apply for a folder.
func render(ctx context.Context, dir string) []byte {
	GinkgoHelper()
	binaries, err := assets.Dir(ctx, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	output, err := exec.CommandContext(ctx, binaries+"/kubectl", "kustomize", root+"/"+dir).Output()
	Expect(err).NotTo(HaveOccurred())
	return output
}
