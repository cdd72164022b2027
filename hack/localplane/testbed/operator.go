// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	dto "github.com/prometheus/client_model/go"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/process"
)

// Operator is a process of cmd/operator.
type Operator struct {
	*process.Process
	metricsURL string
}

// StartOperator starts an operator with the rights of its ServiceAccount, its
// metrics in plain HTTP on loopback and no probes. The flags come after these, and
// so win.
func (b *Bed) StartOperator(flags ...string) (*Operator, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	flags = append([]string{
		"--kubeconfig=" + b.kubeconfig, "--health-probe-bind-address=0",
		"--metrics-secure=false", "--metrics-bind-address=" + address,
		"--leader-election-namespace=" + SystemNamespace,
	}, flags...)
	p, err := process.Start(fmt.Sprintf("operator-%d", len(b.operators)), b.dir, b.binary(), flags...)
	if err != nil {
		return nil, err
	}
	o := &Operator{Process: p, metricsURL: "http://" + address + "/metrics"}
	b.operators = append(b.operators, o)
	return o, nil
}

// Complaints are what all operators so far have logged at error level. A look costs
// as much as the logs are long.
func (b *Bed) Complaints() []string {
	var found []string
	for _, o := range b.operators {
		for _, line := range o.Tail(math.MaxInt) {
			if strings.Contains(line, `"level":"ERROR"`) || strings.HasPrefix(line, "panic") {
				found = append(found, o.Name()+": "+line)
			}
		}
	}
	return found
}

// freeAddress is one that nobody listens at, as far as one can know.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// Freeze stops the operator where it stands, as a node does that is paused; Thaw lets
// it go on.
func (o *Operator) Freeze() error { return syscall.Kill(-o.PID(), syscall.SIGSTOP) }

// Thaw lets a frozen operator go on.
func (o *Operator) Thaw() error { return syscall.Kill(-o.PID(), syscall.SIGCONT) }

// Memory is how much of a process lies in memory, in MiB: now, and at most so far.
type Memory struct{ Now, Peak float64 }

// Memory reads what Linux says of the process.
func (o *Operator) Memory() (Memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", o.PID()))
	if err != nil {
		return Memory{}, err
	}
	var m Memory
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		switch {
		case err != nil:
		case name == "VmRSS":
			m.Now = kib / 1024
		case name == "VmHWM":
			m.Peak = kib / 1024
		}
	}
	return m, nil
}

// Sums reads the operator's metrics: of each counter and gauge, the sum over its
// series.
func (o *Operator) Sums(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.metricsURL, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return nil, fmt.Errorf("metrics of %s: %w", o.Name(), err)
	}
	sums := map[string]float64{}
	for name, family := range families {
		sums[name] = sum(family)
	}
	return sums, nil
}

func sum(family *dto.MetricFamily) (total float64) {
	for _, m := range family.GetMetric() {
		total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return total
}
