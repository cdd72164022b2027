// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"bytes"
	"strings"
	"testing"
)

func TestReportRemembersWhatFailed(t *testing.T) {
	var out bytes.Buffer
	r := NewReport(&out)
	r.Section("part %d", 1)
	r.Note("a figure", "%d", 7)
	r.Must(true, "a bound", "<= 3", "%d", 2)
	if err := r.Err(); err != nil {
		t.Errorf("all is well: got %v", err)
	}
	r.Must(false, "another", "<= 3", "%d", 4)
	if err := r.Err(); err == nil || !strings.HasSuffix(err.Error(), ": 1") {
		t.Errorf("got %v, want one figure", err)
	}
	for _, want := range []string{"part 1\n", "a figure", " ok ", "FAILED", "must be <= 3\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
