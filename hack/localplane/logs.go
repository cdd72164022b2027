// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	tailBytes = 8 << 10 // what is read of a log's end
	tailLines = 12      // and what of that is shown
)

// tails returns the last lines of every log in dir, to go with an error.
func tails(dir string) string {
	var text strings.Builder
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	for _, log := range logs {
		_, _ = fmt.Fprintf(&text, "\nlast lines of %s:\n\t%s", filepath.Base(log), strings.Join(tail(log), "\n\t"))
	}
	return text.String()
}

func tail(path string) []string {
	file, err := os.Open(path)
	if err != nil {
		return []string{err.Error()}
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.Size() > tailBytes {
		_, _ = file.Seek(-tailBytes, io.SeekEnd)
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return []string{err.Error()}
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return lines[max(0, len(lines)-tailLines):]
}
