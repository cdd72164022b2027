// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// stderr is what go build -v says when a package does not compile.
const stderr = `go: downloading k8s.io/api v0.37.2
k8s.io/api/core/v1
k8s.io/api/apps/v1
# k8s.io/api/apps/v1
apps/types.go:1:1: expected 'package'
`

func TestProgressCountsPackagesAndKeepsComplaints(t *testing.T) {
	p := &progress{what: "building"}
	p.compiling(7)
	complaints := p.read(strings.NewReader(stderr))
	if want := "# k8s.io/api/apps/v1\napps/types.go:1:1: expected 'package'\n"; complaints != want {
		t.Errorf("complaints %q, want %q", complaints, want)
	}
	if got := p.String(); !strings.Contains(got, "compiling 2/7 k8s.io/api/apps/v1") {
		t.Errorf("state %q", got)
	}
}

func TestProgressOffTheTerminalIsALineEachFifteenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		p := newProgress(&text, "building")
		p.compiling(7)
		time.Sleep(2*logInterval + time.Second) // the bubble's clock
		p.stop(errors.New("broken"))
		lines := strings.Split(strings.TrimSpace(text.String()), "\n")
		if len(lines) != 4 {
			t.Fatalf("got %d lines, want the first, two by the clock, the last: %q", len(lines), lines)
		}
		if want := "building, 31s: not built 0/7"; lines[3] != want {
			t.Errorf("last line %q, want %q", lines[3], want)
		}
	})
}
