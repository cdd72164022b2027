// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/servicebulkhead/servicebulkhead/hack/assets/filelock"
)

// rootPrefix begins the name of every plane's directory.
const rootPrefix = "servicebulkhead-plane-"

// root is the directory of one plane. A lock in it is held as long as the
// process that made it lives, so that others can tell what was left behind.
type root struct {
	dir  string
	logs string
	lock *filelock.Lock
	open []*os.File
}

// newRoot makes the directory. Logs go to logDir, or into the directory if
// logDir is empty.
func newRoot(logDir string) (*root, error) {
	removeAbandoned(os.TempDir())
	r, err := makeRoot(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("directory of the plane: %w", err)
	}
	r.logs = r.path("logs")
	if logDir != "" {
		r.logs = logDir
	}
	for _, dir := range []string{r.path("bin"), r.path("pid"), r.path("etcd"), r.path("kube-apiserver"), r.path("kubeconfig"), r.logs} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, errors.Join(fmt.Errorf("directory of the plane: %w", err), r.remove())
		}
	}
	return r, nil
}

// makeRoot makes the directory and takes its lock. Only then does it get the
// name by which removeAbandoned looks for directories without a holder.
func makeRoot(parent string) (*root, error) {
	fresh, err := os.MkdirTemp(parent, "servicebulkhead-new-*")
	if err != nil {
		return nil, err
	}
	lock, err := filelock.Try(filepath.Join(fresh, lockName))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(fresh))
	}
	dir := strings.Replace(fresh, "servicebulkhead-new-", rootPrefix, 1)
	if err := os.Rename(fresh, dir); err != nil {
		return nil, errors.Join(err, lock.Release(), os.RemoveAll(fresh))
	}
	return &root{dir: dir, lock: lock}, nil
}

const lockName = "lock"

// removeAbandoned removes the directories of planes whose process was killed.
// It is a courtesy: what it cannot remove it leaves.
func removeAbandoned(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, rootPrefix+"*"))
	for _, dir := range dirs {
		lock, err := filelock.Try(filepath.Join(dir, lockName))
		if err != nil {
			continue
		}
		_ = os.RemoveAll(dir)
		_ = lock.Release()
	}
}

func (r *root) path(name string) string { return filepath.Join(r.dir, name) }

// remove removes the directory, and closes the logs.
func (r *root) remove() error {
	errs := []error{os.RemoveAll(r.dir), r.lock.Release()}
	for _, file := range r.open {
		errs = append(errs, file.Close())
	}
	return errors.Join(errs...)
}

// launch is what it takes to start a component.
type launch struct {
	path string   // the program to run
	log  *os.File // for its output; the root closes it
}

// prepare makes a component ready to be started.
func (r *root) prepare(name, binary string) (launch, error) {
	path, err := writeLauncher(r.path("bin"), name, binary, r.path("pid"))
	if err != nil {
		return launch{}, fmt.Errorf("prepare %s: %w", name, err)
	}
	log, err := os.OpenFile(filepath.Join(r.logs, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return launch{}, fmt.Errorf("prepare %s: %w", name, err)
	}
	r.open = append(r.open, log)
	return launch{path: path, log: log}, nil
}

// pids are the process ids that the launchers have noted, by component.
func (r *root) pids() map[string]int {
	pids := map[string]int{}
	files, _ := filepath.Glob(filepath.Join(r.path("pid"), "*"))
	for _, file := range files {
		content, _ := os.ReadFile(file)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(content))); err == nil {
			pids[filepath.Base(file)] = pid
		}
	}
	return pids
}

// writeKubeconfig writes a kubeconfig for this user alone to read: it holds a key.
func (r *root) writeKubeconfig(name string, content []byte) (string, error) {
	file, err := os.CreateTemp(r.path("kubeconfig"), fileName(name)+"-*.kubeconfig")
	if err != nil {
		return "", fmt.Errorf("kubeconfig of %s: %w", name, err)
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("kubeconfig of %s: %w", name, err)
	}
	return file.Name(), nil
}

// fileName makes a user's name fit for the name of a file.
func fileName(user string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(`/\:*`, c) {
			return '-'
		}
		return c
	}, user)
}
