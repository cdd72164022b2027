// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCRDFitsClientSideApply is case D5: client-side apply keeps the manifest in
// an annotation, and annotations may have 256 KiB together.
func TestCRDFitsClientSideApply(t *testing.T) {
	const limit = 262_144
	files, err := filepath.Glob(filepath.Join(root, "config/crd/bases/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRD found: %v", err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() >= limit {
			t.Errorf("%s has %d bytes, must have fewer than %d", filepath.Base(file), info.Size(), limit)
		}
	}
}
