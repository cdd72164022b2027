// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package parts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
)

// module is this one's path.
const module = "github.com/servicebulkhead/servicebulkhead/hack/pods"

// builds are the packages that are built from this module. The plugins are tools
// of its go.mod.
var builds = []string{
	"github.com/containernetworking/plugins/plugins/ipam/host-local",
	"github.com/containernetworking/plugins/plugins/main/bridge",
	"github.com/containernetworking/plugins/plugins/main/loopback",
	module + "/pause",
}

const (
	pauseProgram = "pause"
	pauseArchive = "pause.tar"
)

// built returns the directory of the CNI plugins and the archive of the pause
// image, both built from the module in the directory source.
func (s store) built(ctx context.Context, source string) (plugins, pauseImage string, err error) {
	key, err := buildKey(source)
	if err != nil {
		return "", "", err
	}
	dir, err := s.get(ctx, key, func(dir string) error { return s.build(ctx, source, dir) })
	return dir, filepath.Join(dir, pauseArchive), err
}

func (s store) build(ctx context.Context, source, dir string) error {
	_, _ = fmt.Fprintln(s.out, "building the network plugins and the pause image")
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", dir + string(filepath.Separator)}, builds...)
	cmd := command(ctx, source, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	if err := run(cmd); err != nil {
		return err
	}
	return writePauseImage(filepath.Join(dir, pauseProgram), filepath.Join(dir, pauseArchive))
}

// buildKey names the build by all that may change its outcome.
func buildKey(source string) (string, error) {
	hash := sha256.New()
	_, _ = fmt.Fprintln(hash, runtime.Version(), runtime.GOARCH, builds, layout.PauseImage, nobody)
	files, _ := filepath.Glob(filepath.Join(source, pauseProgram, "*.go"))
	for _, file := range append(files, filepath.Join(source, "go.mod"), filepath.Join(source, "go.sum")) {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("hash: %w", err)
		}
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", filepath.Base(file), len(content), content)
	}
	return "plugins-" + hex.EncodeToString(hash.Sum(nil))[:12], nil
}
