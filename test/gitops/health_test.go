// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"
)

const (
	argoDir      = "../../config/argocd"
	scriptDir    = argoDir + "/resource_customizations/servicebulkhead.io/ServiceBulkhead"
	healthScript = scriptDir + "/health.lua"
)

// healthOf says what Argo CD must show for what kstatus computes.
var healthOf = map[status.Status]string{
	status.InProgressStatus:  "Progressing",
	status.TerminatingStatus: "Progressing",
	status.CurrentStatus:     "Healthy",
	status.FailedStatus:      "Degraded",
}

// healthTest is a row of health_test.yaml, which has the form that Argo CD's own
// health checks are tested with.
type healthTest struct {
	HealthStatus health `json:"healthStatus"`
	InputPath    string `json:"inputPath"`
}

// TestO26HealthOfFixtures asks the script and kstatus about every kind of status,
// O26 among them: a generation that is not observed yet is never healthy.
func TestO26HealthOfFixtures(t *testing.T) {
	var table struct {
		Tests []healthTest `json:"tests"`
	}
	read(t, filepath.Join(scriptDir, "health_test.yaml"), &table)
	seen := map[string]bool{}
	for _, test := range table.Tests {
		t.Run(filepath.Base(test.InputPath), func(t *testing.T) {
			var object unstructured.Unstructured
			read(t, filepath.Join(scriptDir, test.InputPath), &object.Object)
			numbers(object.Object)
			got, err := runScript(t.Context(), &object)
			if err != nil || got != test.HealthStatus {
				t.Errorf("the script says %+v, %v; want %+v", got, err, test.HealthStatus)
			}
			computed, err := status.Compute(&object)
			if err != nil || healthOf[computed.Status] != test.HealthStatus.Status {
				t.Errorf("kstatus says %+v, %v; the script %s", computed, err, got.Status)
			}
			seen[got.Status] = true
		})
	}
	files, err := filepath.Glob(filepath.Join(scriptDir, "testdata", "*.yaml"))
	if err != nil || len(files) != len(table.Tests) || len(seen) != 3 {
		t.Errorf("%d fixtures, %d tests, states %v; %v", len(files), len(table.Tests), seen, err)
	}
}

// TestHealthWithoutStatus: the schema's default keeps such an object from ever
// being read from an API server; should one appear nevertheless, it is not done.
func TestHealthWithoutStatus(t *testing.T) {
	for name, object := range map[string]map[string]any{
		"no status":     {},
		"empty":         {"status": map[string]any{}},
		"no conditions": {"status": map[string]any{"observedGeneration": int64(1)}},
		"other conditions": {"status": map[string]any{"observedGeneration": int64(1), "conditions": []any{
			map[string]any{"type": "Theirs", "status": "True"},
		}}},
	} {
		object["metadata"] = map[string]any{"name": "payments", "generation": int64(1)}
		got, err := runScript(t.Context(), &unstructured.Unstructured{Object: object})
		if err != nil || got.Status != "Progressing" || got.Message == "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestHealthScriptInArgoCDsConfigMap: the file for argocd-cm holds the script, and
// nothing that would replace anybody's settings.
func TestHealthScriptInArgoCDsConfigMap(t *testing.T) {
	var object corev1.ConfigMap
	read(t, filepath.Join(argoDir, "argocd-cm.yaml"), &object)
	script, err := os.ReadFile(healthScript)
	if err != nil {
		t.Fatal(err)
	}
	const key = "resource.customizations.health.servicebulkhead.io_ServiceBulkhead"
	if object.Name != "argocd-cm" || object.Namespace != "argocd" || len(object.Data) != 1 || object.Data[key] != string(script) {
		t.Errorf("%s/%s holds %v; want nothing but the script under %s", object.Namespace, object.Name, object.Data, key)
	}
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.UnmarshalStrict(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// numbers makes int64 of whole numbers, as clients of an API server read them.
func numbers(object map[string]any) {
	for key, value := range object {
		switch v := value.(type) {
		case float64:
			object[key] = int64(v)
		case map[string]any:
			numbers(v)
		}
	}
}
