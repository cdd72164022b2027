// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/servicebulkhead/servicebulkhead/hack/assets/filelock"
)

// Env names the directory to use instead of a build of our own, as envtest has it.
const Env = "KUBEBUILDER_ASSETS"

// multicall is the one binary that is built; links are the names it goes by.
const multicall = "kube"

var links = []string{
	"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler",
	"kubelet", "kube-proxy", "kubectl", "project",
}

// essential are the names without which there is no control plane at all.
var essential = []string{"etcd", "kube-apiserver"}

// Dir returns the absolute path of the directory that holds etcd,
// kube-apiserver, kube-controller-manager, kubectl, project and the rest. It may
// take minutes: what it does meanwhile is told on out. A directory named by
// KUBEBUILDER_ASSETS is taken as it is; only etcd and kube-apiserver must be in
// it. When ctx ends, Dir gives up and returns the cause; the next call resumes
// the build where Go's build cache stands.
func Dir(ctx context.Context, out io.Writer) (string, error) {
	if preset := os.Getenv(Env); preset != "" {
		return presetDir(preset)
	}
	src, err := findSource()
	if err != nil {
		return "", err
	}
	key, err := src.key()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cache directory: %w", err)
	}
	s := store{root: filepath.Join(cache, "servicebulkhead"), out: out}
	return s.dir(ctx, key, func(ctx context.Context, binary string) error {
		return src.build(ctx, binary, out)
	})
}

func presetDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("%s: %w", Env, err)
	}
	if err := holds(dir, essential); err != nil {
		return "", fmt.Errorf("%s: %w; unset it to use the project's own build", Env, err)
	}
	return dir, nil
}

// holds returns nil if dir has an executable under each of the names.
func holds(dir string, names []string) error {
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("%s is not in %s: %w", name, dir, err)
		}
		if info.IsDir() || info.Mode()&0o111 == 0 {
			return fmt.Errorf("%s in %s is not executable", name, dir)
		}
	}
	return nil
}

// store keeps builds, one directory each, under root.
type store struct {
	root string
	out  io.Writer
}

// dir returns the directory of the build named key, and has build make it if it
// is not there. Of all processes that ask for one key, one builds.
func (s store) dir(ctx context.Context, key string, build func(ctx context.Context, binary string) error) (string, error) {
	dir := filepath.Join(s.root, key)
	if holds(dir, links) == nil {
		return dir, nil
	}
	if err := os.MkdirAll(s.root, 0o755); err != nil {
		return "", fmt.Errorf("cache directory: %w", err)
	}
	lock, err := filelock.Acquire(ctx, dir+".lock", func(holder string) {
		_, _ = fmt.Fprintf(s.out, "waiting for the control plane's binaries: being built by %s\n", holder)
	})
	if err != nil {
		return "", fmt.Errorf("wait for the build of %s: %w", key, err)
	}
	defer func() { _ = lock.Release() }()
	if holds(dir, links) == nil { // whoever had the lock has built it
		return dir, nil
	}
	return dir, fill(ctx, dir, build)
}

// fill makes dir appear, complete, in one step: an interrupted build leaves
// nothing that could be taken for a build. The caller holds the lock.
func fill(ctx context.Context, dir string, build func(ctx context.Context, binary string) error) (err error) {
	if err := removeLeftovers(dir); err != nil {
		return err
	}
	partial, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+partialInfix)
	if err != nil {
		return fmt.Errorf("cache directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(partial)) }()
	if err := build(ctx, filepath.Join(partial, multicall)); err != nil {
		return err
	}
	for _, name := range links {
		if err := os.Symlink(multicall, filepath.Join(partial, name)); err != nil {
			return fmt.Errorf("link: %w", err)
		}
	}
	if err := os.Chmod(partial, 0o755); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return os.Rename(partial, dir)
}

// partialInfix is what the name of an unfinished build has after its key.
const partialInfix = ".partial-"

// removeLeftovers clears what interrupted builds and damaged ones left behind.
func removeLeftovers(dir string) error {
	stale, err := filepath.Glob(dir + partialInfix + "*")
	if err != nil {
		return fmt.Errorf("leftovers: %w", err)
	}
	for _, path := range append(stale, dir) {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("leftovers: %w", err)
		}
	}
	return nil
}
