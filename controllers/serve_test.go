// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tokenOf makes a ServiceAccount, and returns a token of its.
func tokenOf(ctx context.Context, namespace, name string) string {
	GinkgoHelper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	Expect(admin.Create(ctx, account)).To(Succeed())
	clients, err := kubernetes.NewForConfig(plane.Config)
	Expect(err).NotTo(HaveOccurred())
	answer, err := clients.CoreV1().ServiceAccounts(namespace).
		CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return answer.Status.Token
}

// allowMetrics lets a ServiceAccount read metrics, as a cluster does for Prometheus.
func allowMetrics(ctx context.Context, namespace, account string) {
	GinkgoHelper()
	name := metav1.ObjectMeta{Name: namespace + "-metrics"}
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: name, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: name,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
		},
	} {
		Expect(admin.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return admin.Delete(ctx, object) })
	}
}

// scraper asks for metrics over HTTPS; roots nil trusts every certificate.
func scraper(roots *x509.CertPool) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, // each question looks at the certificate anew
		TLSClientConfig: &tls.Config{
			RootCAs: roots, InsecureSkipVerify: roots == nil, MinVersion: tls.VersionTLS12,
		},
	}}
}

// scrape returns the status code, and the text where that is 200.
func scrape(ctx context.Context, by *http.Client, url, token string) func(Gomega) (int, string) {
	return func(g Gomega) (int, string) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := by.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		g.Expect(err).NotTo(HaveOccurred())
		return response.StatusCode, string(text)
	}
}

func status(question func(Gomega) (int, string)) func(Gomega) int {
	return func(g Gomega) int { code, _ := question(g); return code }
}

// writeCertificate makes one for 127.0.0.1, and returns a pool that trusts it alone.
func writeCertificate(dir string) *x509.CertPool {
	GinkgoHelper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("operator.example", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(dir, "tls.crt"), certificate, 0o600)).To(Succeed())
	pool := x509.NewCertPool()
	for block, rest := pem.Decode(certificate); block != nil; block, rest = pem.Decode(rest) {
		parsed, err := x509.ParseCertificate(block.Bytes)
		Expect(err).NotTo(HaveOccurred())
		pool.AddCert(parsed)
	}
	return pool
}

var _ = Describe("The metrics", func() {
	It("are for those whom RBAC lets get /metrics, over HTTPS", func(ctx context.Context) {
		namespace := newNamespace(ctx)
		allowed, other := tokenOf(ctx, namespace, "prometheus"), tokenOf(ctx, namespace, "nobody")
		allowMetrics(ctx, namespace, "prometheus")
		address := freeAddress()
		startProcess(namespace, "--metrics-secure=true", "--metrics-bind-address="+address)
		url, anyone := fmt.Sprintf("https://%s/metrics", address), scraper(nil)

		Eventually(status(scrape(ctx, anyone, url, allowed))).Should(Equal(http.StatusOK))
		_, text := scrape(ctx, anyone, url, allowed)(NewWithT(GinkgoTB()))
		Expect(text).To(And(ContainSubstring("servicebulkhead_published_documents "), ContainSubstring("go_goroutines ")))
		Expect(status(scrape(ctx, anyone, url, other))(NewWithT(GinkgoTB()))).To(Equal(http.StatusForbidden))
		Expect(status(scrape(ctx, anyone, url, ""))(NewWithT(GinkgoTB()))).To(Equal(http.StatusUnauthorized))
		Expect(status(scrape(ctx, anyone, url, "forged"))(NewWithT(GinkgoTB()))).To(BeNumerically(">=", http.StatusUnauthorized))
	})

	It("are served with the certificate that is given, and with the one that takes its place", func(ctx context.Context) {
		namespace, dir := newNamespace(ctx), GinkgoT().TempDir()
		token := tokenOf(ctx, namespace, "prometheus")
		allowMetrics(ctx, namespace, "prometheus")
		roots, address := writeCertificate(dir), freeAddress()
		startProcess(namespace, "--metrics-secure=true", "--metrics-bind-address="+address, "--metrics-cert-dir="+dir)
		url := fmt.Sprintf("https://%s/metrics", address)
		Eventually(status(scrape(ctx, scraper(roots), url, token))).Should(Equal(http.StatusOK))

		renewed := writeCertificate(dir)
		Eventually(status(scrape(ctx, scraper(renewed), url, token))).Should(Equal(http.StatusOK))
	})

	It("are not served at all where the certificate is missing", func() {
		o := MetricsOptions{Address: ":8443", Secure: true, CertDir: GinkgoT().TempDir()}
		Expect(o.Check()).To(MatchError(And(ContainSubstring("tls.crt"), ContainSubstring("tls.key"))))
		writeCertificate(o.CertDir)
		Expect(o.Check()).To(Succeed())
	})
})
