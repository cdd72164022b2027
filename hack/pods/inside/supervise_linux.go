// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
)

// supervisor runs components. While the node boots, a component that ends is a
// failure; afterwards it is started again.
type supervisor struct {
	node     layout.Layout
	children *children
	env      []string
	booted   chan struct{}
	failed   chan Failure // has room for one: the first is what matters
}

func newSupervisor(node layout.Layout) *supervisor {
	return &supervisor{
		node: node, children: reapChildren(), env: environment(os.Environ(), node.Bin()),
		booted: make(chan struct{}), failed: make(chan Failure, 1),
	}
}

// environment is that of the components: nothing outside can be reached, so no
// proxy; and nobody waits for word from a service of systemd.
func environment(environ []string, bin string) []string {
	unwanted := []string{
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "PATH", "KUBECONFIG",
		"NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "SERVICEBULKHEAD_DIE_WITH_PARENT",
	}
	kept := slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(unwanted, strings.ToUpper(name))
	})
	return append(kept, "PATH="+bin+":/usr/sbin:/usr/bin:/sbin:/bin")
}

// start starts components, and sees to it that they stay.
func (s *supervisor) start(components []component) error {
	for _, c := range components {
		ending, err := s.run(c)
		if err != nil {
			return Failure{Log: c.name, Reason: err.Error()}
		}
		go s.keep(c, ending)
	}
	return nil
}

func (s *supervisor) run(c component) (<-chan unix.WaitStatus, error) {
	output, err := os.OpenFile(s.node.Log(c.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = output.Close() }() // the child has its own
	ending, err := s.children.start(filepath.Join(s.node.Bin(), c.name), c.args, s.env, output)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	return ending, nil
}

// keep starts the component again whenever it has ended.
func (s *supervisor) keep(c component, ending <-chan unix.WaitStatus) {
	var pause time.Duration
	for started := time.Now(); ; started = time.Now() {
		words := "did not start"
		if ending != nil {
			words = describe(<-ending)
		}
		s.failWhileBooting(Failure{Log: c.name, Reason: c.name + " " + words})
		ran := time.Since(started)
		pause = restartPause(ran, pause)
		log.Printf("%s %s after %s; starting it again in %s", c.name, words, ran.Round(time.Millisecond), pause)
		<-time.After(pause)
		var err error
		if ending, err = s.run(c); err != nil {
			log.Print(err)
		}
	}
}

// failWhileBooting says that the node cannot boot, unless it has.
func (s *supervisor) failWhileBooting(failure Failure) {
	select {
	case <-s.booted:
	default:
		select {
		case s.failed <- failure:
		default:
		}
	}
}

const (
	quickEnd   = 2 * time.Second // whoever ends sooner would end again
	firstPause = 250 * time.Millisecond
	longPause  = 10 * time.Second
)

// restartPause is how long to wait before a component that ran for some time is
// started again, given how long the wait was before. A component that was killed
// is back at once; one that cannot run does not take all of the machine.
func restartPause(ran, before time.Duration) time.Duration {
	if ran >= quickEnd {
		return 0
	}
	return min(max(firstPause, 2*before), longPause)
}

func describe(status unix.WaitStatus) string {
	if status.Signaled() {
		return "ended: " + status.Signal().String()
	}
	return fmt.Sprintf("ended: exit status %d", status.ExitStatus())
}
