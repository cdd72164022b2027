// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
	"github.com/servicebulkhead/servicebulkhead/hack/pods/machine"
)

// load makes the images in docker archives known to the node's kubelet.
func load(node layout.Layout, files []string) error {
	paths, err := absolute(files)
	if err != nil {
		return err
	}
	env, err := enter(node)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := execute("/", env, []string{"ctr", "--namespace=k8s.io", "images", "import", path}); err != nil {
			return fmt.Errorf("load %s: %w", path, err)
		}
	}
	return nil
}

// absolute must come before enter: whoever has joined the node has its root for a
// working directory.
func absolute(files []string) (paths []string, err error) {
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// run runs a command inside the node, in the same working directory.
func run(node layout.Layout, args []string) error {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	env, err := enter(node)
	if err != nil {
		return err
	}
	return execute(dir, env, args)
}

// enter joins the node, once and for all, and returns the environment of commands
// inside it. The thread that joins the namespaces is good for nothing else, and
// commands are started from it. It is never given back.
func enter(node layout.Layout) (env []string, err error) {
	runtime.LockOSThread()
	if err := join(node); err != nil {
		return nil, err
	}
	env = commandEnv(os.Environ(), node)
	// Programs are looked up in the PATH of this process.
	return env, os.Setenv("PATH", node.Bin()+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// execute runs a command in the namespaces of this thread, and passes signals on to
// it. When this process is killed, the command lives on until the node ends: the
// kernel tells nobody of a parent in another pid namespace.
func execute(dir string, env, args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return err
	}
	go forward(signals, cmd.Process)
	return cmd.Wait()
}

// join has this thread join the namespaces of the node; of the pid namespace only
// children become members.
func join(node layout.Layout) error {
	pid, err := patiently(glance, node, find)
	if err != nil {
		return err
	}
	if pid == 0 {
		return errors.New("the node is not up; make node-up starts it")
	}
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("process %d of the node: %w", pid, err)
	}
	defer func() { _ = unix.Close(process) }()
	// A thread that shares its root and working directory cannot join a mount namespace.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("join the node: %w", err)
	}
	if err := unix.Setns(process, machine.Namespaces); err != nil {
		return fmt.Errorf("join the node's namespaces: %w", err)
	}
	return nil
}

// forward passes signals on. Those of a terminal's keys reach the command by
// themselves: it is in the foreground, as this process is.
func forward(signals <-chan os.Signal, process *os.Process) {
	for received := range signals {
		if (received == syscall.SIGINT || received == syscall.SIGQUIT) && inForeground() {
			continue
		}
		_ = process.Signal(received)
	}
}

// inForeground reports whether the keys of a terminal send signals to this process.
func inForeground() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer func() { _ = terminal.Close() }()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// insideEnv names, inside a node, its directory.
const insideEnv = "SERVICEBULKHEAD_NODE"

// commandEnv is the environment of a command inside the node. A proxy could not be
// reached from there.
func commandEnv(environ []string, node layout.Layout) []string {
	path := os.Getenv("PATH")
	kept := slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}, strings.ToUpper(name))
	})
	return append(kept,
		"KUBECONFIG="+node.Kubeconfig("admin"),
		"PATH="+node.Bin()+string(filepath.ListSeparator)+path,
		insideEnv+"="+node.Root)
}
