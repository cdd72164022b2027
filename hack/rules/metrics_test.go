// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// TestEveryMetricIsExported: promtool does not know what is exported, and an alert
// on a metric that nobody exports never fires.
func TestEveryMetricIsExported(t *testing.T) {
	exporters := []string{
		sources(t, root+"/pkg/agent/agentprom/*.go"),
		sources(t, root+"/controllers/*.go"),
		sources(t, root+"/controllers/nudge/*.go"),
		sources(t, filepath.Join(controllerRuntime(t), "pkg/metrics/*.go")),
		sources(t, filepath.Join(controllerRuntime(t), "pkg/internal/controller/metrics/*.go")),
	}
	for _, alert := range alerts(t) {
		for _, name := range metricsOf(t, alert.Expr.String()) {
			if name != "up" && !exported(exporters, name) { // up is Prometheus's own
				t.Errorf("%s: nobody exports %s", alert.Alert, name)
			}
		}
	}
}

// exported says whether a source has the name as a string, with or without the
// prefix that all of ours have.
func exported(sources []string, name string) bool {
	name = strings.TrimSuffix(name, "_bucket")
	for _, source := range sources {
		if strings.Contains(source, `"`+name+`"`) || strings.Contains(source, `"`+strings.TrimPrefix(name, "servicebulkhead_")+`"`) {
			return true
		}
	}
	return false
}

func metricsOf(t *testing.T, expression string) (names []string) {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		t.Fatal(err)
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			names = append(names, selector.Name)
		}
		return nil
	})
	if len(names) == 0 {
		t.Fatalf("no metric in %s", expression)
	}
	return names
}

// sources returns the text of the files that are not tests.
func sources(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources at %s: %v", pattern, err)
	}
	var text strings.Builder
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			text.Write(read(t, file))
		}
	}
	return text.String()
}

// controllerRuntime is the folder of the version that the operator is built with.
func controllerRuntime(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/controller-runtime")
	cmd.Dir = root
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(output))
}
