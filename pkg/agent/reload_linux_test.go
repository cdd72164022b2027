// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// A pipe or a folder in the document's place is an error, and nothing waits for it.
func TestOnlyAFileIsADocument(t *testing.T) {
	for what, make := range map[string]func(name string) error{
		"p---------": func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"d---------": func(name string) error { return os.Mkdir(name, 0o700) },
	} {
		dir := t.TempDir()
		must(t, make(filepath.Join(dir, bulkheadconfig.Key)))
		a, log := start(t, dir)
		log.expect(t, "document not usable")
		want := "bulkheads.v1.json: not a regular file: " + what
		if err := a.Source().Err; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

const exhausted = "SERVICEBULKHEAD_TEST_WITHOUT_INOTIFY"

// Where no inotify instance is to be had, a change is in force within one poll
// period. The test runs itself again in a user namespace of its own, where it sets
// the number of instances to 0, so that nobody else has to do without.
func TestPollingFindsChangesWithoutInotify(t *testing.T) {
	if os.Getenv(exhausted) != "" {
		pollWithoutInotify(t)
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), exhausted+"=1")
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	child.Stdout, child.Stderr = t.Output(), t.Output()
	must(t, child.Start())
	must(t, child.Wait())
}

func pollWithoutInotify(t *testing.T) {
	must(t, os.WriteFile("/proc/sys/user/max_inotify_instances", []byte("0"), 0o600))
	const poll = 300 * time.Millisecond
	v := newVolume(t)
	publishRevision(v, 0)
	a, log := start(t, v.dir, WithPollInterval(poll))
	log.expect(t, "directory cannot be watched: changes are found by polling")
	if a.Source().Watched {
		t.Error("the directory is said to be watched")
	}
	late := 0
	for n := 1; n <= 9; n++ {
		publishRevision(v, n)
		if took := inForce(t, a.Bulkhead("payments"), n); took > poll+100*time.Millisecond {
			t.Logf("revision %d was in force after %v", n, took)
			late++
		}
	}
	if failures := a.Source().Failures; late > 3 || failures > 0 { // the machine may be busy with something else now and then
		t.Errorf("%d of 9 changes took more than one poll period of %v; %d reads failed", late, poll, failures)
	}
}
