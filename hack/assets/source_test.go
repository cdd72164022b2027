// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestModuleRootPassesNestedModulesBy(t *testing.T) {
	root := t.TempDir()
	nested := filepath.Join(root, "hack", "kubernetes", "deep")
	writeText(t, filepath.Join(root, "go.mod"), "module "+rootModule+"\n")
	writeText(t, filepath.Join(nested, "..", "go.mod"), "module "+rootModule+"/hack/kubernetes\n")
	writeText(t, filepath.Join(nested, "x.go"), "package x\n")
	if got, err := moduleRoot(nested); err != nil || got != root {
		t.Errorf("moduleRoot() = %q, %v; want %q", got, err, root)
	}
	if got, err := moduleRoot(t.TempDir()); err == nil {
		t.Errorf("outside the repository: got %q, want an error", got)
	}
}

func TestDirective(t *testing.T) {
	const goMod = `module example.com/m

require (
	k8s.io/kubernetes v1.2.3
	k8s.io/kubernetes-other v9.9.9 // indirect
)
require single.example/x v0.1.0
replace k8s.io/api => k8s.io/api v0.2.3
`
	for name, want := range map[string]string{
		"module":            "example.com/m",
		"k8s.io/kubernetes": "v1.2.3",
		"single.example/x":  "v0.1.0",
		"k8s.io/api":        "",
	} {
		if got := directive(goMod, name); got != want {
			t.Errorf("directive(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestKeyFollowsWhatIsBuilt(t *testing.T) {
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "go.mod"), "require k8s.io/kubernetes v1.2.3\nrequire go.etcd.io/etcd/server/v3 v3.4.5\n")
	writeText(t, filepath.Join(dir, "main.go"), "package main\n")
	first := keyOf(t, dir)
	if !strings.HasPrefix(first, "kube-v1.2.3-etcd-v3.4.5-") {
		t.Errorf("key %q does not begin with the versions", first)
	}
	writeText(t, filepath.Join(dir, "main_test.go"), "package main\n")
	writeText(t, filepath.Join(dir, "README.md"), "words\n")
	if got := keyOf(t, dir); got != first {
		t.Errorf("a test and a text changed the key from %q to %q", first, got)
	}
	writeText(t, filepath.Join(dir, "main.go"), "package main // changed\n")
	if got := keyOf(t, dir); got == first {
		t.Error("a changed source kept the key")
	}
}

func TestVersionsAreRequired(t *testing.T) {
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "go.mod"), "require k8s.io/kubernetes v1.2.3\n")
	if s, err := readSource(dir); err == nil {
		t.Errorf("got %+v, want an error", s)
	}
}

func keyOf(t *testing.T, dir string) string {
	t.Helper()
	s, err := readSource(dir)
	if err != nil {
		t.Fatal(err)
	}
	key, err := s.key()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
