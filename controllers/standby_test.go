// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// gate is a way to the API server that counts who goes through.
type gate struct {
	kubeconfig string

	mu     sync.Mutex
	looks  int // at a lease
	writes []string
	paths  []string
}

// newGate opens a gate for the operator's ServiceAccount, until the spec ends.
func newGate() *gate {
	GinkgoHelper()
	g := &gate{kubeconfig: filepath.Join(GinkgoT().TempDir(), "kubeconfig")}
	transport, err := rest.TransportFor(rest.AnonymousClientConfig(operatorConfig)) // the caller's token goes along
	Expect(err).NotTo(HaveOccurred())
	target, err := url.Parse(operatorConfig.Host)
	Expect(err).NotTo(HaveOccurred())
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { g.count(r.In); r.SetURL(target) },
	}
	server := httptest.NewTLSServer(proxy) // client-go sends no token over plain HTTP
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	DeferCleanup(func() { server.CloseClientConnections(); server.Close() })

	config, err := clientcmd.LoadFromFile(operatorKubeconfig)
	Expect(err).NotTo(HaveOccurred())
	for _, cluster := range config.Clusters {
		cluster.Server, cluster.CertificateAuthorityData = server.URL, certificate
	}
	Expect(clientcmd.WriteToFile(*config, g.kubeconfig)).To(Succeed())
	return g
}

func (g *gate) count(r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.paths = append(g.paths, r.URL.Path)
	switch {
	case r.Method != http.MethodGet:
		g.writes = append(g.writes, r.Method+" "+r.URL.Path)
	case strings.HasSuffix(r.URL.Path, "/leases/"+LeaderElectionID):
		g.looks++
	}
}

func (g *gate) leaseLooks() int { g.mu.Lock(); defer g.mu.Unlock(); return g.looks }

// asked are the paths of all requests.
func (g *gate) asked() []string { g.mu.Lock(); defer g.mu.Unlock(); return slices.Clone(g.paths) }

func (g *gate) written() []string { g.mu.Lock(); defer g.mu.Unlock(); return g.writes }

// allowLeases gives the operator in another namespace the rights that it has in its
// own.
func allowLeases(ctx context.Context, namespace string) {
	GinkgoHelper()
	all, err := readRights(roleFile)
	Expect(err).NotTo(HaveOccurred())
	name := metav1.ObjectMeta{Namespace: namespace, Name: "leases"}
	Expect(admin.Create(ctx, &rbacv1.Role{ObjectMeta: name, Rules: all.own})).To(Succeed())
	Expect(admin.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: systemNamespace, Name: "servicebulkhead-operator"}},
	})).To(Succeed())
}

var _ = Describe("Two replicas", func() {
	It("O28: of which the standby is asked to end, with work waiting and no leader left, write nothing", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		// A lease of this spec's own: what other specs left of theirs is not waited for.
		leases := namespace
		allowLeases(ctx, leases)
		flags := []string{"--leader-elect", "--leader-election-namespace=" + leases}
		leader := startProcess(namespace, flags...)
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: leases, Name: LeaderElectionID}}
		Eventually(look(ctx, lease)).Should(HaveField("Spec.HolderIdentity", HaveValue(Not(BeEmpty()))))

		g := newGate()
		standby := startProcess(namespace, append(flags, "--kubeconfig="+g.kubeconfig)...)
		Eventually(g.leaseLooks).Should(BeNumerically(">=", 2), "it stands by")
		leader.Kill().Wait()
		payments := create(ctx, namespace, "payments")
		began := time.Now()
		standby.Terminate()
		Eventually(standby).Should(gexec.Exit(0))

		Expect(time.Since(began)).To(BeNumerically("<", gracefulShutdown), "within the pod's grace period of 30 s")
		Expect(g.written()).To(BeEmpty())
		Expect(standby.complaints()).To(BeEmpty())
		Expect(look(ctx, payments)()).To(HaveField("Status.ObservedGeneration", BeEquivalentTo(-1)))
		Expect(client.IgnoreNotFound(admin.Delete(ctx, payments))).To(Succeed())
	})

	It("are told apart by what goes through the gate", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		g := newGate()
		startProcess(namespace, "--kubeconfig="+g.kubeconfig)
		payments := create(ctx, namespace, "payments")
		Eventually(state(ctx, payments)).Should(bePublished())
		Expect(g.written()).To(ContainElements(
			"POST /api/v1/namespaces/"+namespace+"/configmaps",
			HavePrefix("PATCH /apis/servicebulkhead.io/v1alpha1/namespaces/"+namespace+"/servicebulkheads/payments/status"),
		))
	})
})
