// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package parts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Programs are the paths of everything that a node runs.
type Programs struct {
	// Kube is the directory with etcd, the components of Kubernetes, and kubectl.
	Kube string
	// Runtime are containerd, runc and nft with what they need, by name.
	Runtime map[string]string
	// Libraries is a directory that nft needs in LD_LIBRARY_PATH, or empty.
	Libraries string
	// CNI is the directory of the network plugins.
	CNI string
	// PauseImage is a docker archive.
	PauseImage string
}

// runtimeNames are the programs that are not built from Go modules here.
var runtimeNames = []string{"containerd", "containerd-shim-runc-v2", "ctr", "runc", "nft"}

// kubeNames are the links that the build of hack/kubernetes goes by.
var kubeNames = []string{
	"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl",
}

// Ensure returns the programs, and fetches or builds what is missing; it tells on
// out what takes time. The working directory must lie inside the repository. When
// ctx ends, Ensure gives up and leaves nothing half done in the cache.
func Ensure(ctx context.Context, out io.Writer) (Programs, error) {
	repository, err := findRepository()
	if err != nil {
		return Programs{}, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return Programs{}, fmt.Errorf("cache directory: %w", err)
	}
	s := store{dir: filepath.Join(cache, "servicebulkhead"), out: out}
	var p Programs
	for _, get := range []func() error{
		func() (err error) { p.Kube, err = kube(ctx, repository, out); return },
		func() (err error) { p.Runtime, p.Libraries, err = s.runtime(ctx); return },
		func() (err error) {
			p.CNI, p.PauseImage, err = s.built(ctx, filepath.Join(repository, "hack", "pods"))
			return
		},
	} {
		if err := get(); err != nil {
			return Programs{}, err
		}
	}
	return p, nil
}

// Link fills the directory dir, which it makes, with all programs under their
// names, fit to stand in PATH.
func (p Programs) Link(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("link programs: %w", err)
	}
	var errs []error
	for _, name := range kubeNames {
		errs = append(errs, os.Symlink(filepath.Join(p.Kube, name), filepath.Join(dir, name)))
	}
	for name, path := range p.Runtime {
		if name == "nft" && p.Libraries != "" {
			errs = append(errs, p.wrap(path, filepath.Join(dir, name)))
			continue
		}
		errs = append(errs, os.Symlink(path, filepath.Join(dir, name)))
	}
	return errors.Join(errs...)
}

// wrap writes a script that gives its libraries to a program, and to no other one.
func (p Programs) wrap(path, script string) error {
	text := fmt.Sprintf("#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s \"$@\"\n", quote(p.Libraries), quote(path))
	return os.WriteFile(script, []byte(text), 0o755)
}

// quote makes one word of a shell command of s.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Write notes the programs in a file, whose directory it makes.
func (p Programs) Write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// Read reads what Write has noted.
func Read(path string) (Programs, error) {
	var p Programs
	text, err := os.ReadFile(path)
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(text, &p)
}
