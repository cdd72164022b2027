// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// localPrefix is where a kubelet looks for images whose names have no registry.
const localPrefix = "docker.io/library"

// write writes each image as an archive into the directory, and says so, with the
// image's id: what the status of a pod calls imageID after the archive was imported.
func write(images []image, dir, tag string, out io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, i := range images {
		ref, err := reference(localPrefix, i.program, tag)
		if err != nil {
			return err
		}
		file := filepath.Join(dir, i.program.name+".tar")
		if err := writeArchive(file, ref, i.image); err != nil {
			return fmt.Errorf("write %s: %w", file, err)
		}
		id, err := i.image.ConfigName()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\t%s\t%s\n", file, ref, id)
	}
	return nil
}

// writeArchive leaves an earlier archive as it is until the new one is complete.
func writeArchive(file string, ref name.Tag, image v1.Image) error {
	partial, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(partial.Name()) // which fails when it has been renamed
	err = errors.Join(tarball.Write(ref, image, partial), partial.Chmod(0o644), partial.Close())
	if err != nil {
		return err
	}
	return os.Rename(partial.Name(), file)
}

// push pushes each image to the registry, as the user that docker login has left in
// the file of docker, and prints what its variable is to be set to.
func push(ctx context.Context, images []image, registry, tag string, out io.Writer) error {
	for _, i := range images {
		ref, err := reference(registry, i.program, tag)
		if err != nil {
			return err
		}
		if err := remote.Write(ref, i.image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			return fmt.Errorf("push %s: %w", ref, err)
		}
		digest, err := i.image.Digest()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s=%s@%s\n", i.program.variable(), ref.Context(), digest)
	}
	return nil
}

// reference is the name of an image behind the prefix, which is a registry and
// perhaps a path there.
func reference(prefix string, p program, tag string) (name.Tag, error) {
	if prefix == "" || strings.Contains(prefix, "://") {
		return name.Tag{}, fmt.Errorf("registry %q: must be HOST[:PORT][/PATH]", prefix)
	}
	ref, err := name.NewTag(strings.TrimSuffix(prefix, "/")+"/"+p.image()+":"+tag, name.StrictValidation)
	if err != nil {
		return name.Tag{}, fmt.Errorf("registry %q, tag %q: %w", prefix, tag, err)
	}
	return ref, nil
}
