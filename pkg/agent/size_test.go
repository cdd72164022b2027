// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What an application pays for the agent: at most 6 MiB in a stripped binary that
// has net/http already, and nothing of Kubernetes in its build.
func TestCostToAnApplication(t *testing.T) {
	dir := t.TempDir()
	goTool(t, "build", "-trimpath", "-ldflags=-s -w", "-o", dir, "./testdata/size/bare", "./testdata/size/bulkheads")
	size := func(name string) int64 {
		info, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		return info.Size()
	}
	bare, with := size("bare"), size("bulkheads")
	t.Logf("stripped: %.1f MiB without, %.1f MiB with the agent", float64(bare)/(1<<20), float64(with)/(1<<20))
	if added := with - bare; added > 6<<20 || added <= 0 {
		t.Errorf("the agent adds %d bytes, want at most 6 MiB", added)
	}
	packages := strings.Fields(goTool(t, "list", "-deps", "./testdata/size/bulkheads"))
	for _, path := range packages {
		if strings.HasPrefix(path, "k8s.io/") || strings.HasPrefix(path, "sigs.k8s.io/") {
			t.Errorf("%s is part of the application's build", path)
		}
	}
	if len(packages) < 100 {
		t.Errorf("go list found %d packages", len(packages))
	}
}

func goTool(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Stderr = t.Output()
	out, err := command.Output()
	must(t, err)
	return string(out)
}
