// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package manifest

import (
	"os"
	"slices"
	"syscall"
	"testing"
)

// TestWhatIsNoFile: what a directory holds must not keep a pipeline waiting for ever.
func TestWhatIsNoFile(t *testing.T) {
	tree(t, "a/1.yaml", "a/b.yaml/2.yaml")
	if err := syscall.Mkfifo("a/pipe.yaml", 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"a/device.yaml": "/dev/zero", "a/lost.yaml": "none", "a/folder.yaml": "b.yaml", "a/link.yaml": "1.yaml"} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	files, faults := Expand([]string{"a"}, false)
	if want := []string{"a/1.yaml"}; !slices.Equal(files, want) { // the link is to the same
		t.Errorf("got %q, want %q", files, want)
	}
	var told []string
	for _, f := range faults {
		told = append(told, f.File+": "+f.Message)
	}
	want := []string{
		"a/device.yaml: not a regular file", "a/folder.yaml: not a regular file",
		"a/lost.yaml: no such file or directory", "a/pipe.yaml: not a regular file",
	}
	if !slices.Equal(told, want) {
		t.Errorf("got %q, want %q", told, want)
	}
}

// TestAPipeThatIsNamed is what a shell makes of <(kustomize build .).
func TestAPipeThatIsNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	files, faults := Expand([]string{"pipe"}, false)
	if len(files) != 1 || len(faults) != 0 {
		t.Fatalf("got %q, %v", files, faults)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile("pipe", []byte("a: 1\n"), 0o600) }()
	text, err := ReadFile(files[0], nil)
	if err != nil || string(text) != "a: 1\n" {
		t.Errorf("got %q, %v", text, err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

func TestAFileWithoutAnEnd(t *testing.T) {
	_, err := ReadFile("/dev/zero", nil)
	if err == nil || err.Error() != "larger than 64 MiB: check it in parts" {
		t.Errorf("got %v", err)
	}
}
