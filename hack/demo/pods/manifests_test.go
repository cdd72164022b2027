// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/controllers/nudge"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
)

// find decodes, strictly, the document of a kind and name.
func find(t *testing.T, manifest, kind, name string, into any) {
	t.Helper()
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		var head struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal([]byte(document), &head); err != nil {
			t.Fatal(err)
		}
		if head.Kind == kind && head.Metadata.Name == name {
			if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
				t.Errorf("%s %s: %v", kind, name, err)
			}
			return
		}
	}
	t.Fatalf("no %s %s", kind, name)
}

func TestTheManifestsAreWhatTheActsSpeakOf(t *testing.T) {
	var namespace corev1.Namespace
	find(t, shopManifest, "Namespace", story.Namespace, &namespace)
	if l := namespace.Labels; l[madeLabel] != "true" || l["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Errorf("labels of the namespace: %v", l)
	}
	var bulkhead v1alpha1.ServiceBulkhead
	find(t, shopManifest, "ServiceBulkhead", story.Bulkhead, &bulkhead)
	if s := bulkhead.Spec; *s.Limit != limit || s.MaxWait != "50ms" {
		t.Errorf("bulkhead: %+v", s)
	}
	var shop, payments, load appsv1.Deployment
	find(t, shopManifest, "Deployment", shopApp, &shop)
	find(t, shopManifest, "Deployment", paymentsApp, &payments)
	find(t, loadManifest, "Deployment", loadApp, &load)
	if shop.Namespace != story.Namespace || *shop.Spec.Replicas != replicas || shop.Spec.Template.Labels[nudge.Label] != "enabled" {
		t.Errorf("shop: %+v", shop)
	}
	if source := shop.Spec.Template.Spec.Volumes[0].ConfigMap; source.Name != story.ConfigMap || !*source.Optional {
		t.Errorf("volume: %+v", source)
	}
	for _, d := range []appsv1.Deployment{shop, payments, load} {
		if d.Spec.Template.Labels[appLabel] != d.Name {
			t.Errorf("%s: labels %v", d.Name, d.Spec.Template.Labels)
		}
	}
	for app, port := range map[string]string{shopApp: shopPort, paymentsApp: paymentsPort} {
		var service corev1.Service
		find(t, shopManifest, "Service", app, &service)
		if p := service.Spec.Ports[0]; service.Spec.Selector[appLabel] != app || p.TargetPort.String() != port || p.Port != 80 {
			t.Errorf("service %s: %+v", app, service.Spec)
		}
	}
}

// Every image, the operator's too, can be another one.
func TestWithImages(t *testing.T) {
	operator, err := os.ReadFile("../../../config/install.yaml")
	if err != nil {
		t.Fatal(err)
	}
	other := func(name string) string {
		return "registry.example/" + strings.ToLower(strings.TrimPrefix(name, "SERVICEBULKHEAD_IMAGE_")) + "@sha256:0"
	}
	all := string(operator) + shopManifest + loadManifest
	if got := withImages(all, func(string) string { return "" }); got != all {
		t.Error("changed without a reason")
	}
	got := withImages(all, other)
	for _, name := range []string{"operator", "shop", "payments", "load"} {
		if strings.Count(got, "image: registry.example/"+name+"@sha256:0\n") != 1 {
			t.Errorf("the image of %s is not another one, or not once", name)
		}
	}
	if strings.Contains(got, ":latest") {
		t.Error("an image was forgotten")
	}
}

func TestText(t *testing.T) {
	if got := remarked("# whole\na: 1 # one\nb: 2\n  c: # three\n"); got != "a: 1 # one\n  c: # three\n" {
		t.Errorf("remarked = %q", got)
	}
	if got := foreign("Namespace   shop   <none>\nCustomResourceDefinition   x   true\n\n"); len(got) != 1 || got[0] != "Namespace shop" {
		t.Errorf("foreign = %q", got)
	}
	const command = `kubectl patch -p '{"a":1}'`
	if got := spelled(command, false); got != command {
		t.Errorf("spelled = %q", got)
	}
	if got := spelled(command, true); got != `make node-run CMD="kubectl patch -p '{\"a\":1}'"` {
		t.Errorf("spelled = %q", got)
	}
}
