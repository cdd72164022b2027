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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
)

// refuseForeignInstallation ends the run where the operator is installed already: it
// would be taken away in the end.
func refuseForeignInstallation(ctx context.Context) {
	GinkgoHelper()
	var namespace corev1.Namespace
	err := cluster.client.Get(ctx, client.ObjectKey{Name: systemNamespace}, &namespace)
	if apierrors.IsNotFound(err) {
		return
	}
	Expect(err).NotTo(HaveOccurred())
	if namespace.Labels[suiteLabel] == "" {
		Fail("the cluster has an operator in " + systemNamespace + " already, and the suite would take it away in the end: " +
			"uninstall it first, or choose another cluster")
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
	kubectl(ctx, "label", "--overwrite", "namespace", systemNamespace, suiteLabel+"=true")
	kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "crd/servicebulkheads.servicebulkhead.io")
	rolledOut(ctx)
	installed.manifests, installed.upgraded = which, time.Now()
}

// rolledOut waits until the operator's pods are as the Deployment says, all of them
// ready, and the others gone.
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

// upgrade rolls the operator out under another image; where none is given, under the
// same once more.
func upgrade(ctx context.Context) {
	GinkgoHelper()
	deployment := "deployment/" + operatorName
	if next := setting("SERVICEBULKHEAD_IMAGE_UPGRADE", ""); next != "" {
		kubectl(ctx, "-n", systemNamespace, "set", "image", deployment, "operator="+next)
	} else {
		kubectl(ctx, "-n", systemNamespace, "rollout", "restart", deployment)
	}
	rolledOut(ctx)
	installed.upgraded = time.Now()
}

// upgradeKind says which of the two upgrade did.
func upgradeKind() string {
	if setting("SERVICEBULKHEAD_IMAGE_UPGRADE", "") != "" {
		return "to another image"
	}
	return "to the same image"
}
