// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
)

// client asks the node's components how they are.
type client struct {
	node layout.Layout
	http *http.Client
}

func newClient(node layout.Layout) (client, error) {
	admin, err := tls.LoadX509KeyPair(node.Cert("admin"), node.Key("admin"))
	if err != nil {
		return client{}, fmt.Errorf("certificate: %w", err)
	}
	ca, err := os.ReadFile(node.Cert("ca"))
	if err != nil {
		return client{}, fmt.Errorf("certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return client{node: node, http: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{admin}, MinVersion: tls.VersionTLS12},
	}}}, nil
}

// containerd is ready when it listens: it does so last.
func (client) containerd(ctx context.Context) error {
	connection, err := new(net.Dialer).DialContext(ctx, "unix", layout.Socket)
	if err != nil {
		return err
	}
	return connection.Close()
}

func (c client) apiServer(ctx context.Context) error {
	_, err := c.get(ctx, c.node.APIServer()+"/readyz")
	return err
}

func (c client) proxy(ctx context.Context) error {
	_, err := c.get(ctx, "http://"+proxyHealth+"/healthz")
	return err
}

// serviceAccount is there when pods may be created in the default namespace.
func (c client) serviceAccount(ctx context.Context) error {
	_, err := c.get(ctx, c.node.APIServer()+"/api/v1/namespaces/default/serviceaccounts/default")
	return err
}

func (c client) nodeReady(ctx context.Context) error {
	body, err := c.get(ctx, c.node.APIServer()+"/api/v1/nodes/"+layout.NodeName)
	if err != nil {
		return err
	}
	return checkReady(body)
}

// checkReady returns nil if the Node, in JSON, is Ready, and otherwise why not.
func checkReady(body []byte) error {
	var node struct {
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := json.Unmarshal(body, &node); err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type != "Ready" {
			continue
		}
		if condition.Status == "True" {
			return nil
		}
		return errors.New(condition.Message)
	}
	return errors.New("the kubelet has not said anything yet")
}

func (c client) get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, response.Status)
	}
	return body, err
}
