// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package story

import (
	"os"
	"path/filepath"
	"testing"
)

// fakeKubectl returns one that a script stands for.
func fakeKubectl(t *testing.T, teller *Teller, script string) Kubectl {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubectl")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return Kubectl{Teller: teller, Path: path}
}

func TestKubectlShowsWhatItRuns(t *testing.T) {
	text := tell(t, func(teller *Teller) {
		if err := fakeKubectl(t, teller, `echo "asked to $*"`).Show(t.Context(), "get", "a b"); err != nil {
			t.Error(err)
		}
		if err := fakeKubectl(t, teller, "echo broken >&2; exit 3").Show(t.Context(), "get"); err == nil || err.Error() != "kubectl get: exit status 3: broken" {
			t.Errorf("error: %v", err)
		}
	})
	expectIn(t, text, "$ kubectl get 'a b'\n    asked to get a b\n")
}

func TestKubectlAnswersYesOrNo(t *testing.T) {
	tell(t, func(teller *Teller) {
		for script, want := range map[string]string{"echo Warning; echo yes": "yes", "echo no; exit 1": "no", "echo who; exit 1": ""} {
			got, err := fakeKubectl(t, teller, script).ShowCanI(t.Context(), "get", "pods")
			if got != want || (err == nil) != (want != "") {
				t.Errorf("%s: %q, %v", script, got, err)
			}
		}
	})
}

// What is refused must say why, and must have changed nothing.
func TestRefuseChange(t *testing.T) {
	const generation = `case $* in *get*) echo 1; exit;; esac; `
	for _, test := range []struct {
		script string
		failed int
	}{
		{`echo 'spec.maxWait: must be at most 60s'; exit 1`, 0},
		{`echo 'spec.maxWait: wrong'; exit 1`, 1},
		{`echo patched`, 3},
	} {
		tell(t, func(teller *Teller) {
			if err := RefuseChange(t.Context(), fakeKubectl(t, teller, generation+test.script)); err != nil {
				t.Error(err)
			}
			if teller.Failed() != test.failed {
				t.Errorf("%s: %d checks failed, want %d", test.script, teller.Failed(), test.failed)
			}
		})
	}
}
