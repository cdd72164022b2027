// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"
)

const forever = 30 * time.Second

func startShell(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start("test", t.TempDir(), "/bin/sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestAwaitReturnsTheRestOfTheLine(t *testing.T) {
	p := startShell(t, "echo first; echo listening on somewhere; exec sleep 60")
	got, err := p.Await(t.Context(), "listening on ")
	if err != nil || got != "somewhere" {
		t.Errorf("Await = %q, %v", got, err)
	}
	if p.State() != "running" {
		t.Errorf("state: %s", p.State())
	}
}

func TestAwaitFailsWhenTheProcessEnds(t *testing.T) {
	p := startShell(t, "echo trouble >&2; exit 3")
	_, err := p.Await(t.Context(), "listening on ")
	if err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("Await: %v", err)
	}
	if tail := p.Tail(5); len(tail) != 1 || tail[0] != "trouble" {
		t.Errorf("Tail = %q", tail)
	}
}

func TestAwaitFailsWhenTheContextEnds(t *testing.T) {
	p := startShell(t, "exec sleep 60")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Await(ctx, "listening on "); err == nil {
		t.Error("Await returned without a line")
	}
}

func TestStopEndsTheProcess(t *testing.T) {
	p := startShell(t, "exec sleep 60")
	p.Stop(forever)
	if p.State() != "signal: terminated" {
		t.Errorf("state: %s", p.State())
	}
	if err := syscall.Kill(p.PID(), 0); err == nil {
		t.Error("there is still such a process")
	}
	p.Stop(forever) // a second time does nothing
}

func TestStopKillsWhatDoesNotEnd(t *testing.T) {
	p := startShell(t, "trap '' TERM; echo ready; while :; do sleep 60; done")
	if _, err := p.Await(t.Context(), "ready"); err != nil {
		t.Fatal(err)
	}
	p.Stop(time.Millisecond)
	if p.State() != "signal: killed" {
		t.Errorf("state: %s", p.State())
	}
}

func TestStartFailsWithTheName(t *testing.T) {
	_, err := Start("shop", t.TempDir(), "/no/such/program")
	if err == nil || !strings.Contains(err.Error(), "start shop") {
		t.Errorf("Start: %v", err)
	}
}
