// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
)

// client is somebody who has a kubeconfig.
type client struct {
	file   string // NAME.kubeconfig, NAME.crt and NAME.key
	user   string
	groups []string
}

// clients are the users of a node. Their rights are those that Kubernetes'
// bootstrap policy gives to these names and groups.
var clients = []client{
	{"admin", "admin", []string{"system:masters"}},
	{"apiserver-kubelet-client", "apiserver-kubelet-client", []string{"system:masters"}},
	{"kube-controller-manager", "system:kube-controller-manager", nil},
	{"kube-scheduler", "system:kube-scheduler", nil},
	{"kube-proxy", "system:kube-proxy", nil},
	{"kubelet", "system:node:" + layout.NodeName, []string{"system:nodes"}},
}

// serverNames are what pods call the API server.
var serverNames = []string{
	"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + layout.ClusterDomain,
}

// Write makes everything and writes it below node.PKI().
func Write(node layout.Layout) error {
	if err := os.MkdirAll(node.PKI(), 0o700); err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	ca, err := newAuthority()
	if err != nil {
		return fmt.Errorf("certificate authority: %w", err)
	}
	caKey, err := encodeKey(ca.key)
	errs := []error{err, write(node.Cert("ca"), ca.pem), write(node.Key("ca"), caKey)}
	errs = append(errs,
		writeServer(node, ca, "kube-apiserver", serverNames...),
		writeServer(node, ca, "kubelet-serving", layout.NodeName),
		writeTokenKey(node))
	for _, client := range clients {
		errs = append(errs, writeClient(node, ca, client))
	}
	return errors.Join(errs...)
}

func writeServer(node layout.Layout, ca authority, file string, names ...string) error {
	cert, err := template(file)
	if err != nil {
		return fmt.Errorf("certificate of %s: %w", file, err)
	}
	cert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	cert.DNSNames = names
	for _, ip := range []string{"127.0.0.1", layout.NodeIP, layout.KubernetesIP} {
		cert.IPAddresses = append(cert.IPAddresses, net.ParseIP(ip))
	}
	_, err = writePair(node, ca, file, cert)
	return err
}

func writeClient(node layout.Layout, ca authority, c client) error {
	cert, err := template(c.user, c.groups...)
	if err != nil {
		return fmt.Errorf("certificate of %s: %w", c.user, err)
	}
	cert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	issued, err := writePair(node, ca, c.file, cert)
	if err != nil {
		return err
	}
	return write(node.Kubeconfig(c.file), kubeconfig(node.APIServer(), ca.pem, issued))
}

func writePair(node layout.Layout, ca authority, file string, cert *x509.Certificate) (pair, error) {
	issued, err := ca.issue(cert)
	if err != nil {
		return pair{}, fmt.Errorf("certificate of %s: %w", file, err)
	}
	return issued, errors.Join(write(node.Cert(file), issued.cert), write(node.Key(file), issued.key))
}

// writeTokenKey makes the key that signs ServiceAccounts' tokens.
func writeTokenKey(node layout.Layout) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("key of ServiceAccounts: %w", err)
	}
	keyPEM, err := encodeKey(key)
	return errors.Join(err, write(node.Key("service-accounts"), keyPEM))
}

// kubeconfig has everything in it, so that the file may be copied elsewhere.
func kubeconfig(server string, ca []byte, user pair) []byte {
	text := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: node, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: user, user: {client-certificate-data: %s, client-key-data: %s}}]
contexts: [{name: node, context: {cluster: node, user: user}}]
current-context: node
`, server, text(ca), text(user.cert), text(user.key))
}
