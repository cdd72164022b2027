// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// TestPageOfStates: the table of docs/gitops.md pairs the words of kstatus with
// those of Argo CD as the tests do, and names every reason to wait for a person; the
// kill switch is the one that is tested.
func TestPageOfStates(t *testing.T) {
	text, err := os.ReadFile("../../docs/gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "-p '"+killSwitchPatch+"'") {
		t.Errorf("the kill switch is not %s", killSwitchPatch)
	}
	pairs := map[status.Status]string{}
	var stalled string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 7 || healthOf[status.Status(strings.TrimSpace(cells[4]))] == "" {
			continue
		}
		computed := status.Status(strings.TrimSpace(cells[4]))
		pairs[computed] = strings.TrimSpace(cells[5])
		if computed == status.FailedStatus {
			stalled = cells[1]
		}
	}
	if len(pairs) != len(healthOf) {
		t.Errorf("the table has %v, want %v", pairs, healthOf)
	}
	for computed, shown := range healthOf {
		if pairs[computed] != shown {
			t.Errorf("%s is %q in the table, want %q", computed, pairs[computed], shown)
		}
	}
	for _, reason := range []string{
		v1alpha1.ReasonServiceConflict, v1alpha1.ReasonDocumentFull, v1alpha1.ReasonInvalid,
		v1alpha1.ReasonConfigMapConflict, v1alpha1.ReasonConfigMapImmutable, v1alpha1.ReasonConfigMapRefused,
	} {
		if !strings.Contains(stalled, "`"+reason+"`") {
			t.Errorf("the table does not name %s", reason)
		}
	}
}
