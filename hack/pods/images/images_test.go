// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// root of the repository.
const root = "../../.."

// A program that would be linked with the C library, were it built with cgo.
const source = `package main

import "net"

func main() { _, _ = net.LookupHost("localhost") }
`

// repository makes a module with a small program for each image.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "go.mod"), "module example.com/programs\n\ngo 1.26\n")
	for _, p := range programs {
		writeFile(t, filepath.Join(dir, p.source, "main.go"), source)
	}
	return dir
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(file, []byte(text), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// images runs the command, which must succeed, and returns the lines it prints.
func images(t *testing.T, args ...string) []string {
	t.Helper()
	var out strings.Builder
	must(t, run(t.Context(), args, &out, os.Stderr))
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// open reads an archive back, by the name that a kubelet asks for.
func open(t *testing.T, dir string, p program, tag string) v1.Image {
	t.Helper()
	ref, err := name.NewTag("docker.io/library/" + p.image() + ":" + tag)
	must(t, err)
	image, err := tarball.ImageFromPath(filepath.Join(dir, p.name+".tar"), &ref)
	must(t, err)
	return image
}

func digest(t *testing.T, image v1.Image) v1.Hash {
	t.Helper()
	d, err := image.Digest()
	must(t, err)
	return d
}

func TestTheSameSourcesMakeTheSameImages(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	first := images(t, "build", "-root", repository(t), "-o", here)
	images(t, "build", "-root", repository(t), "-o", there)
	for i, p := range programs {
		file := filepath.Join(here, p.name+".tar")
		one, err := os.ReadFile(file)
		must(t, err)
		two, err := os.ReadFile(filepath.Join(there, p.name+".tar"))
		must(t, err)
		if !bytes.Equal(one, two) {
			t.Errorf("%s: two archives differ", p.name)
		}
		id, err := open(t, here, p, "latest").ConfigName()
		must(t, err)
		if want := file + "\tdocker.io/library/" + p.image() + ":latest\t" + id.String(); first[i] != want {
			t.Errorf("printed %q, want %q", first[i], want)
		}
	}
	if files, err := os.ReadDir(here); err != nil || len(files) != len(programs) {
		t.Errorf("%d files, %v: want %d", len(files), err, len(programs))
	}
}

func TestALabelMakesAnotherImageOfTheSameProgram(t *testing.T) {
	repo, out := repository(t), t.TempDir()
	images(t, "build", "-root", repo, "-o", filepath.Join(out, "1"), "operator")
	lines := images(t, "build", "-root", repo, "-o", filepath.Join(out, "2"), "-tag", "next", "-label", "a=b=c", "operator")
	if len(lines) != 1 {
		t.Errorf("%d images, want 1", len(lines))
	}
	one, two := open(t, filepath.Join(out, "1"), programs[0], "latest"), open(t, filepath.Join(out, "2"), programs[0], "next")
	if digest(t, one) == digest(t, two) {
		t.Error("the digest is the same")
	}
	if layerOf(t, one) != layerOf(t, two) {
		t.Error("the layer is another")
	}
	config, err := two.ConfigFile()
	must(t, err)
	if got := config.Config.Labels["a"]; got != "b=c" {
		t.Errorf("label a is %q", got)
	}
}

func layerOf(t *testing.T, image v1.Image) v1.Hash {
	t.Helper()
	layers, err := image.Layers()
	must(t, err)
	if len(layers) != 1 {
		t.Fatalf("%d layers", len(layers))
	}
	d, err := layers[0].DiffID()
	must(t, err)
	return d
}

func TestAnImageHoldsOneStaticProgramAndRunsItAsNobody(t *testing.T) {
	out := t.TempDir()
	images(t, "build", "-root", repository(t), "-o", out)
	for _, p := range programs {
		image := open(t, out, p, "latest")
		config, err := image.ConfigFile()
		must(t, err)
		if c := config.Config; c.User != "65532:65532" || c.WorkingDir != "/" || len(c.Cmd)+len(c.Env) > 0 ||
			len(c.Entrypoint) != 1 || c.Entrypoint[0] != "/"+p.binary() {
			t.Errorf("%s: %+v", p.name, c)
		}
		for _, label := range []string{"title", "description", "source", "licenses"} {
			if config.Config.Labels["org.opencontainers.image."+label] == "" {
				t.Errorf("%s: no label %s", p.name, label)
			}
		}
		if config.OS != "linux" || config.Architecture == "" || !config.Created.Equal(epoch) || len(config.History) != 1 || !config.History[0].Created.Equal(epoch) {
			t.Errorf("%s: %s/%s created %v, history %v", p.name, config.OS, config.Architecture, config.Created, config.History)
		}
		header, program := onlyFile(t, image)
		if header.Name != p.binary() || header.Typeflag != tar.TypeReg || header.Mode != 0o755 || header.Uid+header.Gid != 0 || !header.ModTime.Equal(epoch) {
			t.Errorf("%s: %+v", p.name, header)
		}
		checkStatic(t, program)
	}
}

// onlyFile returns what the image's only layer holds, which must be one file.
func onlyFile(t *testing.T, image v1.Image) (*tar.Header, []byte) {
	t.Helper()
	layers, err := image.Layers()
	must(t, err)
	text, err := layers[0].Uncompressed()
	must(t, err)
	defer text.Close()
	files := tar.NewReader(text)
	header, err := files.Next()
	must(t, err)
	content, err := io.ReadAll(files)
	must(t, err)
	if another, err := files.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("another file %+v, %v", another, err)
	}
	return header, content
}

// checkStatic tells a program that asks for an interpreter or a library.
func checkStatic(t *testing.T, program []byte) {
	t.Helper()
	file, err := elf.NewFile(bytes.NewReader(program))
	must(t, err)
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
			t.Errorf("the program is not static: %v", part.Type)
		}
	}
}

// The small programs of the other tests stand for those of the repository.
func TestTheProgramsExist(t *testing.T) {
	args := []string{"list", "-f", "{{.Name}}"}
	for _, p := range programs {
		args = append(args, p.source)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	text, err := cmd.CombinedOutput()
	if err != nil || string(text) != strings.Repeat("main\n", len(programs)) {
		t.Errorf("go list: %v\n%s", err, text)
	}
	manifest, err := os.ReadFile(filepath.Join(root, "config", "install.yaml"))
	must(t, err)
	if !strings.Contains(string(manifest), "image: "+programs[0].image()+":latest\n") {
		t.Errorf("install.yaml does not name %s:latest", programs[0].image())
	}
}
