// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestNothingSleeps: whoever sleeps waits too long or not long enough. Only under
// synctest, whose clock jumps, does a test sleep in no time and for exactly as
// long as it says.
func TestNothingSleeps(t *testing.T) {
	sleep, bubble := []byte("time"+".Sleep("), []byte(`"testing/synctest"`)
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, sleep) && !bytes.Contains(text, bubble) {
			t.Errorf("%s sleeps: use synctest, Eventually, a channel, or a timer beside a context", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("read %d files: %v", files, err)
	}
}
