// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// The components that Crash, Freeze and Revive know.
const (
	Etcd      = "etcd"
	APIServer = "kube-apiserver"
)

// Crash kills a component, and returns when it is gone. Its data stays; Revive
// starts it again.
func (p *Plane) Crash(component string) error {
	pid, err := p.pid(component)
	if err != nil {
		return err
	}
	killGroup(pid)
	if !gone(pid, killWait) {
		return fmt.Errorf("%s: process %d is still there after SIGKILL", component, pid)
	}
	return nil
}

// Revive starts a component that Crash has killed, on the port and the data that it
// had, and returns when it is ready. When ctx ends, the start goes on by itself.
func (p *Plane) Revive(ctx context.Context, component string) error {
	started := make(chan error, 1)
	switch component {
	case Etcd:
		go func() { started <- p.server.Etcd.Start() }()
	case APIServer:
		go func() { started <- p.server.APIServer.Start() }()
	default:
		return unknownComponent(component)
	}
	select {
	case err := <-started:
		if err != nil {
			return fmt.Errorf("revive %s: %w%s", component, err, tails(p.root.logs))
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Freeze stops a component where it stands: connections stay open, and nothing is
// answered. The caller must call thaw, before Stop.
func (p *Plane) Freeze(component string) (thaw func() error, err error) {
	pid, err := p.pid(component)
	if err != nil {
		return nil, err
	}
	thaw = func() error { return signalGroup(pid, syscall.SIGCONT) }
	return thaw, signalGroup(pid, syscall.SIGSTOP)
}

func signalGroup(pid int, signal syscall.Signal) error {
	if err := syscall.Kill(-pid, signal); err != nil {
		return fmt.Errorf("%s to process group %d: %w", signal, pid, err)
	}
	return nil
}

var errUnknownComponent = errors.New("no such component")

func unknownComponent(name string) error {
	return fmt.Errorf("%q: %w", name, errUnknownComponent)
}

func (p *Plane) pid(component string) (int, error) {
	pid, ok := p.Processes()[component]
	if !ok {
		return 0, unknownComponent(component)
	}
	return pid, nil
}
