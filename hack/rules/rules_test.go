// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

// TestPromtool runs Prometheus's own checks and the cases of testdata.
func TestPromtool(t *testing.T) {
	dir := t.TempDir()
	text, err := yaml.Marshal(manifest(t).Spec)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "rules.yaml"), text)
	promtool(t, "check", "rules", "--lint=all", "--lint-fatal", filepath.Join(dir, "rules.yaml"))

	for _, file := range cases(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			copied := filepath.Join(dir, filepath.Base(file)) // beside the rules
			write(t, copied, read(t, file))
			promtool(t, "test", "rules", copied)
		})
	}
}

// TestEveryAlertIsTried: promtool does not miss an alert that no case mentions.
func TestEveryAlertIsTried(t *testing.T) {
	var text strings.Builder
	for _, file := range cases(t) {
		text.Write(read(t, file))
	}
	for _, alert := range alerts(t) {
		name := regexp.QuoteMeta(alert.Alert)
		severity := regexp.QuoteMeta(alert.Labels["severity"])
		fires := regexp.MustCompile(`alertname="` + name + `", alertstate="firing", severity="` + severity + `"` +
			`|alertname: ` + name + `\n +eval_time: \w+\n +exp_alerts:\n +- exp_labels: {severity: ` + severity)
		silent := regexp.MustCompile(`{alertname: ` + name + `, eval_time: \w+, exp_alerts: \[\]}` +
			`|- expr: ALERTS{alertname="` + name + `"[^}]*}\n +eval_time: \w+\n( +- expr|\n|$)`)
		if !fires.MatchString(text.String()) {
			t.Errorf("%s: no case in which it fires", alert.Alert)
		}
		if !silent.MatchString(text.String()) {
			t.Errorf("%s: no case in which it does not", alert.Alert)
		}
	}
}

// TestEveryAlertHelps: who is woken by an alert must learn what it means, how bad it
// is, and where to read what to do.
func TestEveryAlertHelps(t *testing.T) {
	const page = "https://github.com/servicebulkhead/servicebulkhead/blob/main/docs/alerts.md#"
	text := string(read(t, root+"/docs/alerts.md"))
	for _, alert := range alerts(t) {
		if alert.For == nil || *alert.For == "0s" {
			t.Errorf("%s: fires at once", alert.Alert)
		}
		severity := alert.Labels["severity"]
		if !slices.Contains([]string{"critical", "warning", "info"}, severity) {
			t.Errorf("%s: the severity is %q", alert.Alert, severity)
		}
		for _, name := range []string{"summary", "description"} {
			if !strings.HasSuffix(alert.Annotations[name], ".") && !strings.HasSuffix(alert.Annotations[name], "?") {
				t.Errorf("%s: the %s is no sentence: %q", alert.Alert, name, alert.Annotations[name])
			}
		}
		if got, want := alert.Annotations["runbook_url"], page+strings.ToLower(alert.Alert); got != want {
			t.Errorf("%s: the runbook is at %q, want %q", alert.Alert, got, want)
		}
		if !strings.Contains(text, "\n### "+alert.Alert+"\n\n*"+severity+": ") {
			t.Errorf("docs/alerts.md has no section %q that begins with the severity %q", alert.Alert, severity)
		}
	}
}

// TestEverySectionHasItsAlert: a runbook for an alert that is no more misleads.
func TestEverySectionHasItsAlert(t *testing.T) {
	var names []string
	for _, alert := range alerts(t) {
		names = append(names, alert.Alert)
	}
	for line := range strings.Lines(string(read(t, root+"/docs/alerts.md"))) {
		if name, yes := strings.CutPrefix(strings.TrimSpace(line), "### "); yes && !slices.Contains(names, name) {
			t.Errorf("docs/alerts.md has a section %q, and there is no such alert", name)
		}
	}
}

func manifest(t *testing.T) monitoringv1.PrometheusRule {
	t.Helper()
	var rule monitoringv1.PrometheusRule
	decode(t, read(t, ruleFile), &rule)
	return rule
}

func alerts(t *testing.T) (all []monitoringv1.Rule) {
	t.Helper()
	for _, group := range manifest(t).Spec.Groups {
		all = append(all, group.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("there are no alerts")
	}
	return all
}

func cases(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	return files
}

func promtool(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"tool", "promtool"}, args...)...)
	// Without the clients of all clouds, which take longest to build; and without cgo,
	// so that the race detector of the tests makes no second build of it.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+os.Getenv("GOFLAGS")+" -tags=remove_all_sd")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, output)
	}
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
