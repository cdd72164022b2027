// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// user is the user and the group that programs run as: numbers, by which a kubelet
// can tell that it is not root.
const user = "65532:65532"

// epoch stands for every time: an image is as old as what it was made of.
var epoch = time.Unix(0, 0).UTC()

// assemble makes the image of a program from its binary.
func assemble(p program, binary string, platform v1.Platform, labels map[string]string) (v1.Image, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	files, err := archive(p.binary(), program)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", p.name, err)
	}
	image, err := mutate.ConfigFile(empty.Image, configure(p, platform, labels))
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", p.name, err)
	}
	return mutate.Append(image, mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "images build"},
	})
}

// archive is a layer that holds one program, which everybody may run and only root
// replace.
func archive(name string, program []byte) ([]byte, error) {
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(program)), ModTime: epoch, Format: tar.FormatUSTAR}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(program); err != nil {
		return nil, err
	}
	err := w.Close()
	return layer.Bytes(), err
}

// configure says how the program is run. The Dockerfile says the same.
func configure(p program, platform v1.Platform, labels map[string]string) *v1.ConfigFile {
	all := map[string]string{
		"org.opencontainers.image.title":       p.image(),
		"org.opencontainers.image.description": p.title,
		"org.opencontainers.image.source":      "https://github.com/servicebulkhead/servicebulkhead",
		"org.opencontainers.image.licenses":    "Apache-2.0",
	}
	maps.Copy(all, labels)
	return &v1.ConfigFile{
		OS: platform.OS, Architecture: platform.Architecture,
		Created: v1.Time{Time: epoch},
		RootFS:  v1.RootFS{Type: "layers"},
		Config:  v1.Config{User: user, WorkingDir: "/", Entrypoint: []string{"/" + p.binary()}, Labels: all},
	}
}
