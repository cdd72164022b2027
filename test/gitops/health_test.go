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

// oddStatuses are those that the operator never writes. Some of them not even the
// API server would show.
var oddStatuses = map[string]string{
	"no generation, Ready":          `{conditions: [{type: Ready, status: "True"}]}`,
	"no generation, Stalled":        `{conditions: [{type: Stalled, status: "True", reason: A, message: b}]}`,
	"somebody's Reconciling, Ready": `{observedGeneration: 1, conditions: [{type: Reconciling, status: "True"}, {type: Ready, status: "True"}]}`,
	"Reconciling, then Stalled":     `{observedGeneration: 1, conditions: [{type: Reconciling, status: "True"}, {type: Stalled, status: "True"}]}`,
	"Stalled, then Reconciling":     `{observedGeneration: 1, conditions: [{type: Stalled, status: "True"}, {type: Reconciling, status: "True"}]}`,
	"Ready, then Reconciling":       `{observedGeneration: 1, conditions: [{type: Ready, status: "True"}, {type: Reconciling, status: "True"}]}`,
	"Reconciling no more":           `{observedGeneration: 1, conditions: [{type: Reconciling, status: "False"}, {type: Ready, status: "True"}]}`,
	"Stalled without a message":     `{observedGeneration: 1, conditions: [{type: Stalled, status: "True", reason: A}]}`,
	"Stalled without a reason":      `{observedGeneration: 1, conditions: [{type: Stalled, status: "True", message: b}]}`,
	"Ready without a message":       `{observedGeneration: 1, conditions: [{type: Ready, status: "True", reason: A}]}`,
	"not Ready, without a word":     `{observedGeneration: 1, conditions: [{type: Ready, status: "False"}]}`,
	"a condition without a type":    `{observedGeneration: 1, conditions: [{status: "True"}, {type: Ready, status: "True"}]}`,
	"Ready twice":                   `{observedGeneration: 1, conditions: [{type: Ready, status: "True"}, {type: Ready, status: "False"}]}`,
	"not Ready, then Ready":         `{observedGeneration: 1, conditions: [{type: Ready, status: "False"}, {type: Ready, status: "True"}]}`,
	"Stalled twice":                 `{observedGeneration: 1, conditions: [{type: Stalled, status: "True"}, {type: Stalled, status: "False"}, {type: Ready, status: "True"}]}`,
}

// TestHealthOfOddStatuses: also of what only somebody else can have written, both
// say the same.
func TestHealthOfOddStatuses(t *testing.T) {
	for name, text := range oddStatuses {
		object := map[string]any{}
		if err := yaml.Unmarshal([]byte("{metadata: {name: payments, generation: 1}, status: "+text+"}"), &object); err != nil {
			t.Fatal(err)
		}
		numbers(object)
		got, err := runScript(t.Context(), &unstructured.Unstructured{Object: object})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		computed, err := status.Compute(&unstructured.Unstructured{Object: object})
		if err != nil || got.Status != healthOf[computed.Status] {
			t.Errorf("%s: the script says %+v, kstatus %+v, %v", name, got, computed, err)
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
