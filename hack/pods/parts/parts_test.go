// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package parts

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
)

func TestOneFillsAndAllFind(t *testing.T) {
	s := store{dir: t.TempDir(), out: io.Discard}
	var fills atomic.Int32
	fill := func(dir string) error {
		fills.Add(1)
		return os.WriteFile(filepath.Join(dir, "file"), nil, 0o644)
	}
	var everybody sync.WaitGroup
	for range 5 {
		everybody.Go(func() {
			dir, err := s.get(t.Context(), "key", fill)
			if err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "file")); err != nil {
				t.Error(err)
			}
		})
	}
	everybody.Wait()
	if fills.Load() != 1 {
		t.Errorf("filled %d times", fills.Load())
	}
}

func TestWhatFailsIsNotKept(t *testing.T) {
	s := store{dir: t.TempDir(), out: io.Discard}
	broken := errors.New("broken")
	if _, err := s.get(t.Context(), "key", func(string) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the one who fills", err)
	}
	leftover := filepath.Join(s.dir, "key.partial", "half")
	if err := os.MkdirAll(leftover, 0o755); err != nil { // as of one that was killed
		t.Fatal(err)
	}
	dir, err := s.get(t.Context(), "key", func(string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("got %v, %v; want nothing of what was interrupted", entries, err)
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	s := store{dir: t.TempDir(), out: io.Discard}
	unlock, err := s.lock(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	if _, err := s.get(ctx, "key", func(string) error { return nil }); !errors.Is(err, enough) {
		t.Errorf("got %v, want the cause of the context's end", err)
	}
}

func TestOSField(t *testing.T) {
	const release = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\nID=debian\n"
	for field, want := range map[string]string{"ID": "debian", "VERSION_ID": "12", "VARIANT": "unknown"} {
		if got := osField(release, field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	if key := runtimeKey(release); !strings.HasPrefix(key, "runtime-debian-12-") {
		t.Errorf("key %q does not say what the packages are for", key)
	}
}

func TestFindRuntimeNamesWhatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{
		"usr/bin/containerd", "usr/bin/containerd-shim-runc-v2", "usr/bin/ctr", "usr/sbin/nft", "usr/lib/x86_64-linux-gnu/libnftables.so.1",
	} {
		touch(t, filepath.Join(dir, file))
	}
	if _, _, err := findRuntime(dir); err == nil || !strings.Contains(err.Error(), "no program runc") {
		t.Errorf("without runc: %v", err)
	}
	touch(t, filepath.Join(dir, "usr/sbin/runc"))
	programs, libraries, err := findRuntime(dir)
	if err != nil || programs["runc"] != filepath.Join(dir, "usr/sbin/runc") || libraries != filepath.Join(dir, "usr/lib/x86_64-linux-gnu") {
		t.Errorf("got %q, %q, %v", programs, libraries, err)
	}
}

func TestLinkGivesLibrariesToOneProgramAlone(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "bin")
	programs := Programs{
		Kube: "/kube", Libraries: "/lib's", Runtime: map[string]string{"runc": "/deb/runc", "nft": "/deb/nft"},
	}
	if err := programs.Link(bin); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"kubelet": "/kube/kubelet", "runc": "/deb/runc"} {
		if target, err := os.Readlink(filepath.Join(bin, name)); target != want {
			t.Errorf("%s leads to %q, %v; want %q", name, target, err, want)
		}
	}
	script, err := os.ReadFile(filepath.Join(bin, "nft"))
	if want := `LD_LIBRARY_PATH='/lib'\''s' exec '/deb/nft' "$@"`; err != nil || !strings.Contains(string(script), want) {
		t.Errorf("nft is %q, %v; want in it %q", script, err, want)
	}
}

func TestPauseImageHoldsOneProgram(t *testing.T) {
	dir := t.TempDir()
	program, archive := filepath.Join(dir, pauseProgram), filepath.Join(dir, pauseArchive)
	if err := os.WriteFile(program, []byte("binary"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := writePauseImage(program, archive); err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(layout.PauseImage)
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(archive, &tag)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewReader(content)
	file, err := files.Next()
	if err != nil || file.Name != pauseProgram || file.Mode != 0o755 {
		t.Errorf("got %+v, %v", file, err)
	}
	if file, err := files.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("another file: %+v, %v", file, err)
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
}
