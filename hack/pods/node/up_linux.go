// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/cgroup"
	"github.com/servicebulkhead/servicebulkhead/hack/pods/inside"
	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
	"github.com/servicebulkhead/servicebulkhead/hack/pods/machine"
	"github.com/servicebulkhead/servicebulkhead/hack/pods/parts"
)

// Files that the first process inherits.
const (
	lockFD   = 3 // the node's lock
	reportFD = 4 // where it tells how far it is
)

// check tells on out what is missing, and returns an error if something is.
func check(ctx context.Context, node layout.Layout, out io.Writer) error {
	missing, err := look(ctx, node)
	if err != nil {
		return err
	}
	if len(missing) == 0 {
		_, _ = fmt.Fprintln(out, "a node can run here")
		return nil
	}
	return fmt.Errorf("a node cannot run here; missing:\n  %s", strings.Join(missing, "\n  "))
}

func look(ctx context.Context, node layout.Layout) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	facts, err := machine.Look(ctx, node.Root, self, argTry)
	return machine.Missing(facts), err
}

// up starts a node and returns when pods can run on it. A node that fails leaves
// nothing behind but the last lines of the log that matters, in the error.
func up(ctx context.Context, node layout.Layout, out io.Writer) (err error) {
	started := time.Now()
	lock, err := patiently(glance, node, hold)
	if errors.Is(err, errHeld) {
		return alreadyUp(node)
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // the first process has it, too
	if err := check(ctx, node, io.Discard); err != nil {
		return err
	}
	programs, err := parts.Ensure(ctx, out)
	if err != nil {
		return err
	}
	if err := clear(node); err != nil { // of a node that was killed
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, clear(node))
		}
	}()
	if err := lay(node, programs); err != nil {
		return err
	}
	step := func(words string) { _, _ = fmt.Fprintf(out, "%6.1f s  %s\n", time.Since(started).Seconds(), words) }
	if err := boot(ctx, node, lock, step); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out, "the node is up; make node-down ends it")
	return nil
}

func alreadyUp(node layout.Layout) error {
	pid, err := find(node)
	if err != nil {
		return err
	}
	if pid == 0 {
		return errors.New("a node was still here a moment ago, and is not any more; try again")
	}
	return fmt.Errorf("the node is up already, as process %d; make node-down ends it", pid)
}

// lay makes what has to be there before the first process.
func lay(node layout.Layout, programs parts.Programs) error {
	if err := programs.Write(node.PartsFile()); err != nil { // first: clear knows a node's directory by it
		return fmt.Errorf("state directory: %w", err)
	}
	for _, dir := range []string{node.Logs(), filepath.Dir(node.PIDFile())} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("state directory: %w", err)
		}
	}
	tree, err := cgroup.Find()
	if err != nil {
		return err
	}
	return errors.Join(programs.Link(node.Bin()), tree.Make(node.Cgroup()))
}

// boot starts the first process, and follows it until the node is ready. When ctx
// ends before, or the boot fails, the process is killed.
func boot(ctx context.Context, node layout.Layout, lock *os.File, step func(string)) error {
	cmd, messages, err := startInit(node, lock)
	if err != nil {
		return fmt.Errorf("start the node: %w", err)
	}
	defer func() { _ = messages.Close() }()
	pid := cmd.Process.Pid
	stop := context.AfterFunc(ctx, func() { _ = kill(pid, killPatience) })
	err = os.WriteFile(node.PIDFile(), []byte(strconv.Itoa(pid)+"\n"), 0o644)
	if err == nil {
		err = inside.Follow(messages, step)
	}
	if err == nil && stop() {
		return cmd.Process.Release()
	}
	err = errors.Join(err, tail(node, err), kill(pid, killPatience))
	_ = cmd.Wait() // killed, as we know
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func startInit(node layout.Layout, lock *os.File) (*exec.Cmd, *os.File, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	messages, report, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = report.Close() }()
	log, err := os.Create(node.Log("node"))
	if err != nil {
		return nil, nil, errors.Join(err, messages.Close())
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(self, argInit, node.Root)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{lockFD - 3: lock, reportFD - 3: report}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: machine.Namespaces, Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, nil, errors.Join(err, messages.Close())
	}
	return cmd, messages, nil
}

// tailLines is how many lines of a log go with an error.
const tailLines = 20

// tail returns, as an error, the end of the log that tells of the failure, or nil
// if nothing is in it.
func tail(node layout.Layout, err error) error {
	name := "node"
	var failure inside.Failure
	if errors.As(err, &failure) && failure.Log != "" {
		name = failure.Log
	}
	text, err := os.ReadFile(node.Log(name))
	if err != nil {
		return err
	}
	if len(text) == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("last lines of the log of %s:\n  %s", name, strings.Join(lines[max(0, len(lines)-tailLines):], "\n  "))
}
