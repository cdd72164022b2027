// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// compile builds the programs of the repository at root, all with one command, into
// the directory.
func compile(ctx context.Context, root string, chosen []program, p v1.Platform, dir string) error {
	// With a separator at its end it is a directory also for a single program.
	args := []string{"build", "-trimpath", "-ldflags=-s -w", "-o", dir + string(filepath.Separator)}
	for _, one := range chosen {
		args = append(args, one.source)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), buildEnv(p)...)
	// go ends its compilers when interrupted; killed, it would leave them running.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs in %s: %w\n%s", root, err, text)
	}
	return nil
}

// buildEnv is what must be so, whatever the user's environment says. Without cgo
// programs are static: an image has no libraries. GOFLAGS is the user's, who may
// have a reason not to let Go ask git for the commit.
func buildEnv(p v1.Platform) []string {
	return []string{"CGO_ENABLED=0", "GOWORK=off", "GOOS=" + p.OS, "GOARCH=" + p.Architecture}
}

// parsePlatform reads a platform such as linux/arm64.
func parsePlatform(text string) (v1.Platform, error) {
	p, err := v1.ParsePlatform(text)
	if err != nil || p.OS != "linux" || p.Architecture == "" || p.Variant != "" || p.OSVersion != "" {
		return v1.Platform{}, fmt.Errorf("platform %q: must be linux/ and an architecture as Go names it, such as linux/arm64", text)
	}
	return *p, nil
}
