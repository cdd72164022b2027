// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package parts

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
)

// nobody is the user that pause runs as; it needs no rights.
const nobody = "65535:65535"

// writePauseImage writes a docker archive of an image that holds the program alone.
func writePauseImage(program, archive string) error {
	binary, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("pause image: %w", err)
	}
	image, err := pauseImage(binary)
	if err != nil {
		return fmt.Errorf("pause image: %w", err)
	}
	tag, err := name.NewTag(layout.PauseImage)
	if err != nil {
		return fmt.Errorf("pause image: %w", err)
	}
	return tarball.WriteToFile(archive, tag, image)
}

func pauseImage(binary []byte) (v1.Image, error) {
	files, err := oneFile(pauseProgram, binary)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil })
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", runtime.GOARCH
	file.Config = v1.Config{Entrypoint: []string{"/" + pauseProgram}, User: nobody}
	return mutate.ConfigFile(image, file)
}

// oneFile is a tar archive of one executable.
func oneFile(path string, content []byte) ([]byte, error) {
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	if err := writer.WriteHeader(&tar.Header{Name: path, Mode: 0o755, Size: int64(len(content))}); err != nil {
		return nil, err
	}
	if _, err := writer.Write(content); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil { // only now is the archive complete
		return nil, err
	}
	return archive.Bytes(), nil
}
