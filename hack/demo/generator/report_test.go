// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/load"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
)

// A long report, whose failures and pods leave no room in a termination message.
func long(failures, pods int) report {
	r := report{Sent: 1, Counts: load.Counts{OK: 1}, ByPod: map[string]load.Counts{}, Failures: []words.Failure{}}
	for range failures {
		r.Failures = append(r.Failures, words.Failure{At: time.Unix(0, 0).UTC(), Error: "connection refused", Took: "1s"})
	}
	for i := range pods {
		r.ByPod[fmt.Sprintf("shop-%d", i)] = load.Counts{OK: i}
	}
	return r
}

func TestAReportFitsIntoATerminationMessage(t *testing.T) {
	for _, c := range []struct {
		name           string
		report         report
		failures, pods int // that are left, at least; pods exactly
	}{
		{"short", long(2, 3), 2, 3},
		{"many failures", long(100, 3), 30, 3},
		{"many pods", long(100, 50), 0, 50},
		{"too many pods", long(100, 100), 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := c.report.fit(maxMessage)
			if err != nil || len(text) > maxMessage {
				t.Fatalf("%d bytes, %v", len(text), err)
			}
			var r report
			if err := json.Unmarshal(text, &r); err != nil {
				t.Fatal(err)
			}
			if len(r.Failures) < c.failures || len(r.ByPod) != c.pods || r.Sent != 1 || r.OK != 1 {
				t.Errorf("%d failures, %d pods left: %s", len(r.Failures), len(r.ByPod), text)
			}
		})
	}
	if text, err := long(0, 0).fit(10); err == nil {
		t.Errorf("fits into 10 bytes: %s", text)
	}
}

// What is printed is whole.
func TestTell(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report")
	var out strings.Builder
	if err := long(100, 3).tell(&out, file); err != nil {
		t.Fatal(err)
	}
	var printed, written report
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for into, text := range map[*report]string{&printed: out.String(), &written: string(text)} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	if len(printed.Failures) != 100 || len(written.Failures) >= 100 || written.Sent != printed.Sent {
		t.Errorf("printed %d failures, wrote %d", len(printed.Failures), len(written.Failures))
	}
	if err := long(0, 0).tell(io.Discard, t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), "write report: ") {
		t.Errorf("error: %v", err)
	}
}
