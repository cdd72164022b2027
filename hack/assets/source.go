// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// rootModule is the module in whose directory hack/kubernetes lies.
const rootModule = "github.com/servicebulkhead/servicebulkhead"

// source is the module that is built, and the versions it asks for.
type source struct {
	dir        string // of hack/kubernetes
	kubernetes string // "v1.37.2"
	etcd       string // "v3.7.0"
}

// findSource looks for the repository around the working directory.
func findSource() (source, error) {
	wd, err := os.Getwd()
	if err != nil {
		return source{}, fmt.Errorf("working directory: %w", err)
	}
	root, err := moduleRoot(wd)
	if err != nil {
		return source{}, err
	}
	return readSource(filepath.Join(root, "hack", "kubernetes"))
}

// moduleRoot returns the nearest directory, from dir upwards, that holds the
// root module; nested modules are passed by.
func moduleRoot(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		content, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("module root: %w", err)
		}
		if directive(string(content), "module") == rootModule {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no directory from %s upwards holds the module %s: run this inside the repository, or set %s",
				dir, rootModule, Env)
		}
	}
}

func readSource(dir string) (source, error) {
	content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return source{}, fmt.Errorf("versions: %w", err)
	}
	s := source{
		dir:        dir,
		kubernetes: directive(string(content), "k8s.io/kubernetes"),
		etcd:       directive(string(content), "go.etcd.io/etcd/server/v3"),
	}
	if s.kubernetes == "" || s.etcd == "" {
		return source{}, fmt.Errorf("versions: %s/go.mod requires no k8s.io/kubernetes or no go.etcd.io/etcd/server/v3", dir)
	}
	return s, nil
}

// directive returns the word that follows name at the start of a line of a
// go.mod file: the path of its module, or the version of a requirement.
func directive(goMod, name string) string {
	for line := range strings.Lines(goMod) {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(words) >= 2 && words[0] == name && words[1] != "=>" {
			return words[1]
		}
	}
	return ""
}

// key names the build: its versions, for people, and a hash of all that may
// change its outcome.
func (s source) key() (string, error) {
	hash := sha256.New()
	_, _ = fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH, s.buildFlags(), buildEnv())
	files, err := s.files()
	if err != nil {
		return "", err
	}
	for _, name := range files {
		content, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			return "", fmt.Errorf("hash: %w", err)
		}
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", name, len(content), content)
	}
	return fmt.Sprintf("kube-%s-etcd-%s-%s", s.kubernetes, s.etcd, hex.EncodeToString(hash.Sum(nil))[:12]), nil
}

// files are the names, sorted, of the files that are built.
func (s source) files() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("hash: %w", err)
	}
	var names []string
	for _, entry := range entries {
		name := entry.Name()
		source := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
		if source || name == "go.mod" || name == "go.sum" {
			names = append(names, name)
		}
	}
	return slices.Sorted(slices.Values(names)), nil
}
