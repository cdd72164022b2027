// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"os"
	"slices"
	"testing"
	"time"
)

func TestRestartPause(t *testing.T) {
	for name, test := range map[string]struct{ ran, before, want time.Duration }{
		"killed":               {time.Minute, 0, 0},
		"killed after a pause": {quickEnd, longPause, 0},
		"ended at once":        {0, 0, 250 * time.Millisecond},
		"ended at once again":  {time.Second, 250 * time.Millisecond, 500 * time.Millisecond},
		"never runs":           {time.Second, longPause, longPause},
	} {
		if got := restartPause(test.ran, test.before); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	got := environment([]string{"HOME=/home/me", "https_proxy=http://proxy", "NO_PROXY=*", "PATH=/home/bin", "NOTIFY_SOCKET=/run/systemd/notify"}, "/node/bin")
	if want := []string{"HOME=/home/me", "PATH=/node/bin:/usr/sbin:/usr/bin:/sbin:/bin"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestChildrenTellHowTheyEnded(t *testing.T) {
	c := reapChildren()
	for script, want := range map[string]string{"exit 0": "ended: exit status 0", "exit 3": "ended: exit status 3", "kill -KILL $$": "ended: killed"} {
		ending, err := c.start("/bin/sh", []string{"-c", script}, nil, os.Stderr)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case status := <-ending:
			if got := describe(status); got != want {
				t.Errorf("%s: %s, want %s", script, got, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s: not told that it has ended", script)
		}
	}
	if _, err := c.start("/no/such/program", nil, nil, os.Stderr); err == nil {
		t.Error("started what is not there")
	}
}

func TestOnlyTheFirstFailureOfABootIsTold(t *testing.T) {
	s := &supervisor{booted: make(chan struct{}), failed: make(chan Failure, 1)}
	s.failWhileBooting(Failure{Reason: "first"})
	s.failWhileBooting(Failure{Reason: "second"})
	if failure := <-s.failed; failure.Reason != "first" {
		t.Errorf("got %q", failure.Reason)
	}
	close(s.booted)
	s.failWhileBooting(Failure{Reason: "later"})
	select {
	case failure := <-s.failed:
		t.Errorf("a node that is up fails: %v", failure)
	default:
	}
}
