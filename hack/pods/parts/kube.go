// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package parts

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// assetsEnv names the directory with Kubernetes' binaries, as hack/assets has it.
const assetsEnv = "KUBEBUILDER_ASSETS"

// findRepository returns the nearest directory upwards that this module lies in.
func findRepository() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	}
	for at := wd; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "hack", "pods", "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no directory from %s upwards holds hack/pods: run this inside the repository", wd)
		}
	}
}

// kube returns the directory of Kubernetes' binaries. hack/cluster, of another
// module, knows where they are and builds them if need be.
func kube(ctx context.Context, repository string, out io.Writer) (string, error) {
	dir := os.Getenv(assetsEnv)
	if dir == "" {
		cmd := command(ctx, repository, "go", "run", "./hack/cluster", "assets")
		cmd.Stderr = out
		printed, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("binaries of Kubernetes: go run ./hack/cluster assets: %w", err)
		}
		dir = strings.TrimSpace(string(printed))
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("%s: %w", assetsEnv, err)
	}
	for _, name := range kubeNames {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("%s: a node needs %s: %w", assetsEnv, name, err)
		}
	}
	return dir, nil
}

// command is one that is interrupted, and not killed, when ctx ends: killed, go and
// apt-get would leave their children running.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs a command; its complaints go with the error.
func run(cmd *exec.Cmd) error {
	_, err := output(cmd)
	return err
}

// output is run for a command that may have complaints also when it succeeds.
func output(cmd *exec.Cmd) (complaints []byte, err error) {
	complaints, err = cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(complaints))
	}
	return complaints, err
}
