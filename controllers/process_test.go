// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
)

// operatorBinary builds cmd/operator, once.
var operatorBinary = sync.OnceValues(func() (string, error) {
	return gexec.Build("github.com/servicebulkhead/servicebulkhead/cmd/operator")
})

var _ = AfterSuite(gexec.CleanupBuildArtifacts)

// process is an operator as a pod runs it, with the rights of its ServiceAccount.
type process struct {
	*gexec.Session
	metricsURL string
}

// startProcess runs an operator that works in one namespace, until the spec ends
// or kills it.
func startProcess(namespace string, flags ...string) *process {
	GinkgoHelper()
	binary, err := operatorBinary()
	Expect(err).NotTo(HaveOccurred())
	address := freeAddress()
	flags = append([]string{
		"--kubeconfig=" + operatorKubeconfig, "--namespaces=" + namespace, "--leader-elect=false",
		"--metrics-secure=false", "--metrics-bind-address=" + address, "--health-probe-bind-address=0",
	}, flags...)
	command := exec.Command(binary, flags...)
	dieWithParent(command)
	session, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { session.Kill().Wait() })
	return &process{Session: session, metricsURL: "http://" + address + "/metrics"}
}

// freeAddress is one that nobody listens at, as far as one can know.
func freeAddress() string {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer listener.Close()
	return listener.Addr().String()
}

// metrics reads the sums of all series by name.
func (p *process) metrics(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.metricsURL, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	sums := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		series, text, _ := strings.Cut(lines.Text(), " ")
		name, _, _ := strings.Cut(series, "{")
		if value, err := strconv.ParseFloat(text, 64); err == nil {
			sums[name] += value
		}
	}
	return sums, lines.Err()
}

// complaints are the errors in the operator's log.
func (p *process) complaints() []string {
	var found []string
	for line := range strings.Lines(string(p.Err.Contents())) {
		if !strings.Contains(line, `"level":"INFO"`) {
			found = append(found, line)
		}
	}
	return found
}
