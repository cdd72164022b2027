// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/servicebulkhead/servicebulkhead"
)

// TestImports checks what the packages are built from, all the way down; their
// tests may import more.
func TestImports(t *testing.T) {
	tests := []struct {
		name, dir, packages string
		fine                func(path string) bool
	}{
		{"the limiter is built from the standard library", "pkg", "./limiter/...", within(module + "/pkg/limiter")},
		{"the document is built from the standard library", "pkg", "./bulkheadconfig/...", within(module + "/pkg/bulkheadconfig")},
		{"the agent knows nothing of Kubernetes", "pkg", "./agent/...", not(within("k8s.io", "sigs.k8s.io", module+"/controllers", module+"/api"))},
		{"nothing in pkg knows the operator", "pkg", "./...", not(within(module+"/controllers", module+"/cmd"))},
		{"the API knows neither client nor operator", "api", "./...", not(within("k8s.io/client-go", "k8s.io/api", "sigs.k8s.io/controller-runtime", module+"/controllers", module+"/cmd"))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			paths := list(t, filepath.Join(root, test.dir), "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", test.packages)
			if len(paths) == 0 {
				t.Fatalf("no packages in %s/%s", test.dir, test.packages)
			}
			complain(t, paths, test.fine)
		})
	}
}

// TestImportsOfTheAPI checks what the API's types import themselves.
func TestImportsOfTheAPI(t *testing.T) {
	paths := list(t, filepath.Join(root, "api"), "-f", `{{join .Imports "\n"}}`, "./...")
	standard := list(t, root, "std")
	complain(t, paths, func(path string) bool {
		return slices.Contains(standard, path) || within("k8s.io/apimachinery", "sigs.k8s.io/json", module+"/api", module+"/pkg/bulkheadconfig")(path)
	})
}

// TestImportsOfTheAgent checks what the agent itself imports; its sub-packages may
// import what they connect it with.
func TestImportsOfTheAgent(t *testing.T) {
	paths := list(t, filepath.Join(root, "pkg"), "-f", `{{join .Imports "\n"}}`, "./agent")
	if !slices.Contains(paths, module+"/pkg/limiter") {
		t.Fatalf("the agent does not import the limiter: %v", paths)
	}
	fine := append(list(t, root, "std"),
		module+"/pkg/limiter", module+"/pkg/bulkheadconfig", "github.com/fsnotify/fsnotify")
	complain(t, paths, func(path string) bool { return slices.Contains(fine, path) })
}

// TestImporterOfTheAgent is an application's build: a new module that imports the
// agent and nothing else inherits nothing of Kubernetes, not even as a line of its
// module graph.
func TestImporterOfTheAgent(t *testing.T) {
	dir := t.TempDir()
	pkg, err := filepath.Abs(filepath.Join(root, "pkg"))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(pkg, "go.sum")) // all that it may need, so that nobody has to be asked
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "go.sum", string(sums))
	write(t, dir, "go.mod", "module importer\n\ngo 1.26.0\n\nrequire "+module+"/pkg v0.0.0\n\nreplace "+module+"/pkg => "+pkg+"\n")
	write(t, dir, "main.go", "package main\n\nimport _ \""+module+"/pkg/agent\"\n\nfunc main() {}\n")

	ours := not(within("k8s.io", "sigs.k8s.io"))
	packages := list(t, dir, "-mod=mod", "-deps", ".")
	if !slices.Contains(packages, module+"/pkg/agent") {
		t.Fatalf("the importer does not import the agent: %v", packages)
	}
	complain(t, packages, ours)
	complain(t, list(t, dir, "-mod=mod", "-m", "-f", "{{.Path}}", "all"), ours)
}

// within tells whether a path is one of the roots or below one.
func within(roots ...string) func(string) bool {
	return func(path string) bool {
		return slices.ContainsFunc(roots, func(root string) bool {
			return path == root || strings.HasPrefix(path, root+"/")
		})
	}
}

func not(f func(string) bool) func(string) bool {
	return func(path string) bool { return !f(path) }
}

func complain(t *testing.T, paths []string, fine func(string) bool) {
	t.Helper()
	for _, path := range paths {
		if !fine(path) {
			t.Errorf("%s has no place here", path)
		}
	}
}

// list runs go list in dir and returns what it prints, by word.
func list(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	cmd.Dir = dir
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %v in %s: %v", args, dir, err)
	}
	return strings.Fields(string(out))
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
