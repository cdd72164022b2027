// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"os"
	"path/filepath"
	"testing"
)

// A prober that is not even started: what Look finds does not depend on it.
func TestLookLeavesNothingBehind(t *testing.T) {
	state := filepath.Join(t.TempDir(), "not", "there", "yet")
	facts, err := Look(t.Context(), state, "/bin/echo", "{}")
	if facts.OS != "linux" || facts.UID != os.Geteuid() || facts.StateDir != state {
		t.Errorf("got %+v, %v", facts, err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(state))), "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func TestLookTellsWhatAProberFound(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("namespaces are made by root alone")
	}
	facts, err := Look(t.Context(), t.TempDir(), "/bin/sh", "-c", `echo '{"Bridge": "no such type"}'`)
	if err != nil {
		t.Fatal(err)
	}
	if facts.Namespaces == "" && facts.Trials.Bridge != "no such type" {
		t.Errorf("got %+v", facts)
	}
}
