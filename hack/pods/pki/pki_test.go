// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
)

func TestWrite(t *testing.T) {
	node := layout.Layout{Root: t.TempDir()}
	if err := Write(node); err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(node.Cert("ca"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatalf("no certificate authority in %s", ca)
	}
	for _, address := range []string{layout.NodeIP, layout.KubernetesIP, "127.0.0.1", "kubernetes.default.svc"} {
		verify(t, node, "kube-apiserver", x509.VerifyOptions{Roots: roots, DNSName: address})
	}
	verify(t, node, "kubelet-serving", x509.VerifyOptions{Roots: roots, DNSName: layout.NodeIP})
	for _, c := range clients {
		cert := verify(t, node, c.file, x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		if cert.Subject.CommonName != c.user || !slices.Equal(cert.Subject.Organization, c.groups) {
			t.Errorf("%s is for %s", c.file, cert.Subject)
		}
		kubeconfig, err := os.ReadFile(node.Kubeconfig(c.file))
		if err != nil || !strings.Contains(string(kubeconfig), `server: "https://`+layout.NodeIP+`:6443"`) {
			t.Errorf("kubeconfig of %s: %v:\n%s", c.file, err, kubeconfig)
		}
	}
}

func verify(t *testing.T, node layout.Layout, file string, options x509.VerifyOptions) *x509.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(node.Cert(file), node.Key(file))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pair.Leaf.Verify(options); err != nil {
		t.Errorf("%s: %v", file, err)
	}
	return pair.Leaf
}

func TestKeysAreForTheirOwnerAlone(t *testing.T) {
	node := layout.Layout{Root: t.TempDir()}
	if err := Write(node); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(node.PKI(), "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files: %q, %v", files, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
}
