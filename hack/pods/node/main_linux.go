// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/inside"
	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
	"github.com/servicebulkhead/servicebulkhead/hack/pods/machine"
)

const usage = `usage: node [-root DIR] check | up | run -- COMMAND [ARGUMENT…] | load FILE… | down`

// Arguments that this program gives to itself.
const (
	argInit = "init" // be the first process of a node
	argTry  = "try"  // try, in namespaces, what the machine allows
)

func main() {
	os.Exit(exitCode(dispatch(os.Args[1:])))
}

// exitCode is that of the command that was run, if there was one; any other
// failure is told, and is 1.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode()
	case errors.As(err, &exit): // by a signal: what a shell says then
		return 128 + int(exit.Sys().(syscall.WaitStatus).Signal()) //nolint:errcheck // on Linux it is one
	}
	fmt.Fprintln(os.Stderr, "node:", err)
	return 1
}

func dispatch(args []string) error {
	if len(args) == 2 && args[0] == argInit {
		return runInit(layout.Layout{Root: args[1]})
	}
	if len(args) == 2 && args[0] == argTry {
		return json.NewEncoder(os.Stdout).Encode(machine.Try(args[1]))
	}
	flags := flag.NewFlagSet("node", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprintln(flags.Output(), usage); flags.PrintDefaults() }
	root := flags.String("root", "", "`directory` of the node's state (default servicebulkhead/node in the user's cache)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	node, err := locate(*root)
	if err != nil {
		return err
	}
	return perform(node, flags.Args())
}

// locate returns the layout of the node in the directory root.
func locate(root string) (layout.Layout, error) {
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return layout.Layout{}, fmt.Errorf("state directory: %w; name one with -root", err)
		}
		root = filepath.Join(cache, "servicebulkhead", "node")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return layout.Layout{}, fmt.Errorf("state directory: %w", err)
	}
	if filepath.Dir(root) == root {
		return layout.Layout{}, errors.New("-root: the state directory is removed by down, so it cannot be /")
	}
	return layout.Layout{Root: root}, nil
}

// perform does what the user asks for.
func perform(node layout.Layout, args []string) error {
	if len(args) > 2 && args[0] == "run" && args[1] == "--" {
		return run(node, args[2:])
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	switch {
	case len(args) == 1 && args[0] == "check":
		return check(ctx, node, os.Stdout)
	case len(args) == 1 && args[0] == "up":
		return up(ctx, node, os.Stdout)
	case len(args) > 1 && args[0] == "load":
		return load(node, args[1:])
	case len(args) == 1 && args[0] == "down":
		return down(node, os.Stdout)
	}
	return errors.New(usage)
}

// runInit is the life of a node's first process. Its standard error is the node's
// log. It is here as long as it is not killed; only a boot that fails ends it.
func runInit(node layout.Layout) error {
	for _, file := range []int{lockFD, reportFD} { // not for the components
		syscall.CloseOnExec(file)
	}
	report := os.NewFile(reportFD, "report")
	if err := inside.Boot(context.Background(), node, report); err != nil {
		return err
	}
	_ = report.Close()
	ask := make(chan os.Signal, 1)
	signal.Notify(ask, syscall.SIGTERM)
	<-ask
	return nil
}
