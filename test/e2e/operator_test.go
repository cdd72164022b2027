// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/controllers"
)

const (
	systemNamespace = "servicebulkhead-system"
	operatorName    = "servicebulkhead-operator"
	// operatorApp is what the operator's pods have as appLabel.
	operatorApp = "servicebulkhead"
	// managedSelector selects the ConfigMaps that the operator wrote.
	managedSelector = controllers.ManagedLabel + "=true"
	operatorImage   = "servicebulkhead-operator:latest"
	crd             = "servicebulkheads.servicebulkhead.io"
)

// refuseForeignInstallation ends the run where there is anything of an installation
// that is not the suite's: it would be taken away in the end.
func refuseForeignInstallation(ctx context.Context) {
	GinkgoHelper()
	foreign := strings.Fields(kubectl(ctx, "get", "customresourcedefinitions,namespaces", "-l", "!"+suiteLabel, "-o", "name"))
	for _, name := range []string{"customresourcedefinition.apiextensions.k8s.io/" + crd, "namespace/" + systemNamespace} {
		Expect(foreign).NotTo(ContainElement(name), "the cluster has ServiceBulkhead already, and the suite would take it away in the end: "+
			"uninstall it first, or choose another cluster")
	}
	for namespace := range strings.FieldsSeq(kubectl(ctx, "get", "configmaps", "-A", "-l", managedSelector, "-o", "jsonpath={.items[*].metadata.namespace}")) {
		Expect(foreign).NotTo(ContainElement("namespace/"+namespace), "the namespace has a ConfigMap of an earlier installation, which the suite would delete")
	}
}

// installed is what the suite installed last, and when a new operator took the place
// of an old one for the last time.
var installed struct {
	manifests string
	upgraded  time.Time
}

const (
	plain  = "config/install.yaml"
	nudges = "config/overlays/nudge"
)

// installPlain installs what one file has, and waits for the operator's pods.
func installPlain(ctx context.Context) {
	GinkgoHelper()
	text, err := os.ReadFile(inRepository(plain))
	Expect(err).NotTo(HaveOccurred())
	install(ctx, plain, string(text), image())
}

// installNudge installs the overlay with the nudge, in the place of whatever operator
// there is; where it is that already, nothing is done.
func installNudge(ctx context.Context) {
	GinkgoHelper()
	if installed.manifests != nudges {
		install(ctx, nudges, kubectl(ctx, "kustomize", inRepository(nudges)), image())
	}
}

// image is the operator's image under test.
func image() string { return setting("SERVICEBULKHEAD_IMAGE_OPERATOR", operatorImage) }

func install(ctx context.Context, which, manifests, image string) {
	GinkgoHelper()
	const line = "image: " + operatorImage
	Expect(strings.Count(manifests, line)).To(Equal(1), "the manifests name the operator's image once")
	apply(ctx, strings.Replace(manifests, line, "image: "+image, 1))
	kubectl(ctx, "label", "--overwrite", "namespace/"+systemNamespace, "crd/"+crd, suiteLabel+"=true")
	kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "crd/"+crd)
	rolledOut(ctx)
	installed.manifests, installed.upgraded = which, time.Now()
}

// rolledOut waits until the operator's pods are as the Deployment says, all of them
// ready, and the others gone or about to go.
func rolledOut(ctx context.Context) {
	GinkgoHelper()
	kubectl(ctx, "-n", systemNamespace, "rollout", "status", "--timeout=120s", "deployment/"+operatorName)
}

// scale sets how many replicas of the operator run. It waits until none is left, where
// that is wanted, but not until they are ready.
func scale(ctx context.Context, replicas int) {
	GinkgoHelper()
	kubectl(ctx, "-n", systemNamespace, "scale", "deployment/"+operatorName, "--replicas="+strconv.Itoa(replicas))
	if replicas == 0 {
		kubectl(ctx, "-n", systemNamespace, "wait", "--for=delete", "pod", "-l", appLabel+"="+operatorApp, "--timeout=60s")
	}
}

// errNoOperator says that no operator is meant to run.
var errNoOperator = errors.New("no operator runs")

// leader returns the operator's pod that leads, with the Lease that says so.
func leader(ctx context.Context) (*corev1.Pod, *coordinationv1.Lease, error) {
	pods, err := podsOf(ctx, systemNamespace, operatorApp)
	if err != nil {
		return nil, nil, err
	}
	if len(pods) == 0 {
		return nil, nil, errNoOperator
	}
	var lease coordinationv1.Lease
	if err := cluster.client.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: controllers.LeaderElectionID}, &lease); err != nil {
		return nil, nil, err
	}
	holder := ""
	if lease.Spec.HolderIdentity != nil { // a pod's name and what tells its processes apart
		holder, _, _ = strings.Cut(*lease.Spec.HolderIdentity, "_")
	}
	for _, pod := range pods {
		if pod.Name == holder {
			return pod, &lease, nil
		}
	}
	return nil, nil, fmt.Errorf("the Lease names %q, which is none of the operator's pods", holder)
}

// upgrade rolls the operator out under another image; where none is given, or it has
// that already, under the same once more.
func upgrade(ctx context.Context) {
	GinkgoHelper()
	before, err := podsOf(ctx, systemNamespace, operatorApp)
	Expect(err).NotTo(HaveOccurred())
	deployment, done := "deployment/"+operatorName, ""
	if next := setting("SERVICEBULKHEAD_IMAGE_UPGRADE", ""); next != "" {
		done = kubectl(ctx, "-n", systemNamespace, "set", "image", deployment, "operator="+next)
	}
	if done == "" {
		kubectl(ctx, "-n", systemNamespace, "rollout", "restart", deployment)
	}
	rolledOut(ctx)
	installed.upgraded = time.Now()
	Expect(podsOf(ctx, systemNamespace, operatorApp)).NotTo(ContainElement(HaveField("UID", BeElementOf(uids(before)))))
}

func uids(pods []*corev1.Pod) (all []types.UID) {
	for _, pod := range pods {
		all = append(all, pod.UID)
	}
	return all
}

// upgradeKind says which of the two upgrade did.
func upgradeKind() string {
	if setting("SERVICEBULKHEAD_IMAGE_UPGRADE", "") != "" {
		return "to another image"
	}
	return "to the same image"
}
