// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Stdin is the path that means standard input.
const Stdin = "-"

// extensions are those of the files that are read in a directory; a file that is
// named itself may have any. They are kubectl's.
var extensions = []string{".json", ".yaml", ".yml"}

// Expand replaces directories by the manifests in them, and in their
// sub-directories when recursive; a file that is named twice, by a link for one, is
// read once. What cannot be found is a fault, of no line, beside what can be.
func Expand(paths []string, recursive bool) (files []string, faults []Fault) {
	seen := map[string]bool{}
	for _, path := range paths {
		found, wrong := expand(path, recursive)
		faults = append(faults, wrong...)
		for _, file := range found {
			if id := identity(file); !seen[id] {
				files = append(files, file)
				seen[id] = true
			}
		}
	}
	return files, faults
}

// identity is the same for every name of a file.
func identity(file string) string {
	if file == Stdin {
		return file
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	if absolute, err := filepath.Abs(file); err == nil {
		file = absolute
	}
	return file
}

func expand(path string, recursive bool) ([]string, []Fault) {
	if path == Stdin {
		return []string{Stdin}, nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil && strings.Contains(path, ","):
		return nil, []Fault{Unreadable(path, fmt.Errorf("%w; each file needs a -f of its own", cause(err)))}
	case err != nil:
		return nil, []Fault{Unreadable(path, err)}
	case !info.IsDir():
		return []string{filepath.Clean(path)}, nil
	}
	files, faults := walk(path+string(filepath.Separator), recursive) // the separator follows a link
	if len(files)+len(faults) == 0 {
		faults = []Fault{{File: path, Message: "the directory holds no .yaml, .yml or .json file" + hint(recursive)}}
	}
	return files, faults
}

func walk(root string, recursive bool) (files []string, faults []Fault) {
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error { // returns what the function does
		switch {
		case err != nil:
			faults = append(faults, Unreadable(filepath.Clean(path), err))
		case entry.IsDir() && path != root && !recursive:
			return fs.SkipDir
		case !entry.IsDir() && slices.Contains(extensions, filepath.Ext(path)):
			if err := regular(path); err != nil {
				faults = append(faults, Unreadable(filepath.Clean(path), err))
				break
			}
			files = append(files, filepath.Clean(path))
		}
		return nil
	})
	return files, faults
}

// regular refuses what a directory should not hold: to read from a pipe or a device
// may take for ever. A file that is named itself may be one.
func regular(path string) error {
	info, err := os.Stat(path) // of what a link leads to
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	return err
}

// maxMiB is how much of a file is read.
const maxMiB = 64

// ReadFile reads a file that Expand found; standard input is given.
func ReadFile(path string, stdin io.Reader) ([]byte, error) {
	if path == Stdin {
		return readAll(stdin)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readAll(file)
}

// readAll gives up on what has no end.
func readAll(from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxMiB<<20+1))
	if len(text) > maxMiB<<20 {
		return nil, fmt.Errorf("larger than %d MiB: check it in parts", maxMiB)
	}
	return text, err
}

func hint(recursive bool) string {
	if recursive {
		return ""
	}
	return "; -R looks into its sub-directories too"
}

// Unreadable is the fault of a file that could not be opened or read.
func Unreadable(path string, err error) Fault {
	return Fault{File: path, Message: cause(err).Error()}
}

// cause leaves out the path, which stands before the message anyway.
func cause(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
