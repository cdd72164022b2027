// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

const (
	root     = "../.."
	ruleFile = root + "/config/monitoring/prometheus_rule.yaml"
)

func TestServiceMonitorReadsTheService(t *testing.T) {
	var monitor monitoringv1.ServiceMonitor
	decode(t, read(t, root+"/config/monitoring/service_monitor.yaml"), &monitor)
	var service struct {
		Metadata struct{ Name, Namespace string }
		Spec     struct{ Ports []struct{ Name string } }
	}
	if err := yaml.Unmarshal(read(t, root+"/config/monitoring/service.yaml"), &service); err != nil {
		t.Fatal(err)
	}
	if len(monitor.Spec.Endpoints) != 1 || monitor.Spec.Endpoints[0].Port != service.Spec.Ports[0].Name {
		t.Errorf("the monitor reads %+v, the service has %+v", monitor.Spec.Endpoints, service.Spec.Ports)
	}
	if !monitor.Spec.Endpoints[0].HonorLabels {
		t.Error("the monitor renames the label namespace, by which alerts tell whose pods they are about")
	}
	if monitor.Namespace != service.Metadata.Namespace {
		t.Errorf("the monitor is in %s, the service in %s", monitor.Namespace, service.Metadata.Namespace)
	}
	// The alerts find the operator by the job, which is the service's name.
	if service.Metadata.Name != "servicebulkhead-operator" || monitor.Spec.JobLabel != "" {
		t.Errorf("the job is not servicebulkhead-operator: %+v", service)
	}
}

// TestPodMonitorOfThePage: what docs/install.md tells people to write is valid, and
// keeps the label that the alerts need.
func TestPodMonitorOfThePage(t *testing.T) {
	text := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(read(t, root+"/docs/install.md"))
	if text == nil {
		t.Fatal("the page has no manifest")
	}
	var monitor monitoringv1.PodMonitor
	decode(t, text[1], &monitor)
	if monitor.Kind != "PodMonitor" || len(monitor.Spec.PodMetricsEndpoints) != 1 || !monitor.Spec.PodMetricsEndpoints[0].HonorLabels {
		t.Errorf("got %+v", monitor)
	}
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
