// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Stdin is the path that means standard input.
const Stdin = "-"

// extensions are those of the files that are read in a directory; a file that is
// named itself may have any. They are kubectl's.
var extensions = []string{".json", ".yaml", ".yml"}

// Expand replaces directories by the manifests in them, and in their
// sub-directories when recursive; a file that is named twice is read once. What
// cannot be found is a fault, of no line, beside what can be.
func Expand(paths []string, recursive bool) (files []string, faults []Fault) {
	seen := map[string]bool{}
	for _, path := range paths {
		found, wrong := expand(path, recursive)
		faults = append(faults, wrong...)
		for _, file := range found {
			if !seen[file] {
				files = append(files, file)
			}
			seen[file] = true
		}
	}
	return files, faults
}

func expand(path string, recursive bool) ([]string, []Fault) {
	if path == Stdin {
		return []string{Stdin}, nil
	}
	info, err := os.Stat(path)
	switch {
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
			files = append(files, filepath.Clean(path))
		}
		return nil
	})
	return files, faults
}

func hint(recursive bool) string {
	if recursive {
		return ""
	}
	return "; -R looks into its sub-directories too"
}

// Unreadable is the fault of a file that could not be opened or read.
func Unreadable(path string, err error) Fault {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err // the path stands before it anyway
	}
	return Fault{File: path, Message: err.Error()}
}
