// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// buildFlags are the flags of go. They, and the environment, are the same for
// everybody, else builds would share no cache.
func (s source) buildFlags() []string {
	return []string{
		"-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -X k8s.io/component-base/version.gitVersion=" + s.kubernetes,
	}
}

// buildEnv is what the build's environment has set, whatever the user's says.
func buildEnv() []string {
	return []string{
		"CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off",
		"GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH,
	}
}

// build compiles the multi-call binary and tells on out how far it is.
func (s source) build(ctx context.Context, binary string, out io.Writer) (err error) {
	progress := newProgress(out, fmt.Sprintf("building Kubernetes %s and etcd %s", s.kubernetes, s.etcd))
	defer func() { progress.stop(err) }()
	total, err := s.countPackages(ctx, progress)
	if err != nil {
		return err
	}
	progress.compiling(total)
	return run(s.command(ctx, "build", "-v", "-o", binary, "."), progress, nil)
}

// countPackages is how many packages there are to compile: those of the build
// that Go's cache does not hold.
func (s source) countPackages(ctx context.Context, progress *progress) (int, error) {
	var list strings.Builder
	err := run(s.command(ctx, "list", "-deps", "-f={{if .Stale}}{{.ImportPath}}{{end}}", "."), progress, &list)
	return len(strings.Fields(list.String())), err
}

// command is a go command with the flags of the build.
func (s source) command(ctx context.Context, verb string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{verb}, s.buildFlags(), args)...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), buildEnv()...)
	// go ends its compilers when interrupted; killed, it would leave them running.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs a go command whose standard error is progress's to read.
func run(cmd *exec.Cmd, progress *progress, stdout io.Writer) error {
	cmd.Stdout = stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("go %s: %w", cmd.Args[1], err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("go %s: %w", cmd.Args[1], err)
	}
	complaints := progress.read(stderr)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go %s in %s: %w\n%s", cmd.Args[1], cmd.Dir, err, complaints)
	}
	return nil
}
