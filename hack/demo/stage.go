// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/assets"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/load"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/process"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
	"github.com/servicebulkhead/servicebulkhead/hack/localplane"
)

// stopGrace is how long a process may take to end when asked to.
const stopGrace = 5 * time.Second

// stage is what the acts share. Each adds what it starts.
type stage struct {
	*story.Teller

	dir  string // of everything that the demo writes; removed at the end
	root string // of the repository

	kubectl            story.Kubectl // of the cluster's administrator
	assets             string        // directory of the control plane's binaries
	plane              *localplane.Plane
	processes          []*process.Process // every one that was started, in order
	operatorKubeconfig string
	operator           *process.Process
	mount              string // the directory that stands for the volume
	shop               *process.Process
	shopURL            shopService
	payments           paymentService
	load               *load.Load
}

func newStage(t *story.Teller) (*stage, error) {
	dir, err := os.MkdirTemp("", "servicebulkhead-demo-*")
	if err != nil {
		return nil, err
	}
	s := &stage{Teller: t, dir: dir, mount: filepath.Join(dir, "etc-servicebulkhead")}
	return s, os.MkdirAll(s.logs(), 0o755)
}

func (s *stage) logs() string              { return filepath.Join(s.dir, "logs") }
func (s *stage) binary(name string) string { return filepath.Join(s.dir, "bin", name) }

// prepare builds what the acts run. Only the first time does it take long.
func (s *stage) prepare(ctx context.Context) (err error) {
	if s.root, err = story.Root(ctx); err != nil {
		return err
	}
	if s.assets, err = assets.Dir(ctx, os.Stderr); err != nil {
		return err
	}
	s.Line("building the operator, the shop and payments (a minute or two the first time) …")
	return s.goCommand(ctx, "build", "-o", s.binary("")+string(filepath.Separator),
		"./cmd/operator", "./hack/demo/shop", "./hack/demo/payments")
}

func (s *stage) goCommand(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = s.root
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopGrace
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", args[0], err, text)
	}
	return nil
}

// start starts a process that close stops.
func (s *stage) start(name, path string, args ...string) (*process.Process, error) {
	p, err := process.Start(name, s.logs(), path, args...)
	if err != nil {
		return nil, err
	}
	s.processes = append(s.processes, p)
	return p, nil
}

// close stops everything, the last first, and removes what was written.
func (s *stage) close() error {
	for _, p := range slices.Backward(s.processes) {
		p.Stop(stopGrace)
	}
	if s.load != nil { // after the shop, so that no client waits for an answer
		s.load.Stop()
	}
	var planeErr error
	if s.plane != nil {
		planeErr = s.plane.Stop()
	}
	return errors.Join(planeErr, os.RemoveAll(s.dir))
}

// showLogs shows how the log of each process ends.
func (s *stage) showLogs() {
	shown := map[string]bool{}
	for _, p := range slices.Backward(s.processes) {
		if shown[p.Name()] {
			continue
		}
		shown[p.Name()] = true
		s.Say("last lines of %s (%s):", p.Name(), p.State())
		s.Output(strings.Join(p.Tail(12), "\n"))
	}
}
