// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

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

// way is how to reach a port of a pod: at its address where that can be reached from
// here, as on a node of our own, else through the API server.
func (c *connection) way(pod *corev1.Pod, port int) (client *http.Client, url string) {
	if near(pod, port) {
		return c.direct, "http://" + net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port))
	}
	return c.proxy, fmt.Sprintf("%s/api/v1/namespaces/%s/pods/%s:%d/proxy", c.url, pod.Namespace, pod.Name, port)
}

// reach remembers whether pods' addresses can be reached from here.
var reach struct {
	mu        sync.Mutex
	known, is bool
}

// near tries a pod's address once in a run. Refused is reached: the pod may be
// starting or ending.
func near(pod *corev1.Pod, port int) bool {
	reach.mu.Lock()
	defer reach.mu.Unlock()
	if !reach.known && pod.Status.PodIP != "" && !remote() {
		connection, err := net.DialTimeout("tcp", net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port)), time.Second)
		reach.known, reach.is = true, err == nil || errors.Is(err, syscall.ECONNREFUSED)
		if err == nil {
			_ = connection.Close()
		}
	}
	return reach.is
}

// remote says that the suite is to do as it must on a cluster elsewhere.
func remote() bool { return setting("E2E_REMOTE", "") != "" }
