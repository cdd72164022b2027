// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// ports of the programs.
const (
	shopPort      = 8080
	paymentsPort  = 8082
	generatorPort = 8083
)

// ask sends GET to a pod and returns the status and the body of its answer. An
// answer is no error, whatever its status.
func ask(ctx context.Context, pod *corev1.Pod, port int, path string) (status int, body string, err error) {
	client, url := cluster.way(pod, port)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", fmt.Errorf("ask pod %s: %w", pod.Name, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// get is ask for what must be answered with 200.
func get(ctx context.Context, pod *corev1.Pod, port int, path string) (body string, err error) {
	status, body, err := ask(ctx, pod, port, path)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("pod %s answers %s with %d: %s", pod.Name, path, status, body)
	}
	return body, err
}

// way is how to reach a port of a pod: at its address on a node of our own, else
// through the API server.
func (c *connection) way(pod *corev1.Pod, port int) (client *http.Client, url string) {
	if own() {
		return c.direct, "http://" + net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port))
	}
	return c.proxy, fmt.Sprintf("%s/api/v1/namespaces/%s/pods/%s:%d/proxy", c.url, pod.Namespace, pod.Name, port)
}

// own says that the suite runs on the node itself, one of our own (bin/node run):
// there it sees the node's processes, which are nobody else's, and reaches the pods.
func own() bool { return setting("SERVICEBULKHEAD_NODE", "") != "" && setting("E2E_REMOTE", "") == "" }
