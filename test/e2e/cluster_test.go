// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// fieldManager is the name under which the suite writes.
const fieldManager = "servicebulkhead-e2e"

// cluster is the cluster under test; nil before connect.
var cluster *connection

type connection struct {
	client client.WithWatch
	set    kubernetes.Interface
	// url and proxy lead to pods through the API server, direct to their addresses.
	url           string
	proxy, direct *http.Client
}

// connect finds the cluster that KUBECONFIG names.
func connect() {
	GinkgoHelper()
	file := os.Getenv("KUBECONFIG")
	if file == "" {
		Fail("KUBECONFIG names no cluster: run `make e2e`, which starts a node of its own")
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1 // what is measured must not wait here
	config.UserAgent = fieldManager
	cluster = newConnection(config)
	version, err := cluster.set.Discovery().ServerVersion()
	Expect(err).NotTo(HaveOccurred(), "the cluster of KUBECONFIG=%s does not answer", file)
	note("cluster", "Kubernetes", "%s", version)
}

func newConnection(config *rest.Config) *connection {
	GinkgoHelper()
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	set, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	proxy, err := rest.HTTPClientFor(config)
	Expect(err).NotTo(HaveOccurred())
	direct := &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Second},
	}
	return &connection{client: c, set: set, url: config.Host, proxy: proxy, direct: direct}
}
