// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
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

// ended is the exit code, other than 0, of a command that the user had run. What was
// wrong it has said itself.
type ended int

func (e ended) Error() string { return fmt.Sprintf("the command ended with exit code %d", int(e)) }

// exitCode is that of the command that was run, if there was one; any other
// failure is told, and is 1.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if code, ok := errors.AsType[ended](err); ok {
		return int(code)
	}
	fmt.Fprintln(os.Stderr, "node:", err)
	return 1
}

// passOn makes what became of a command into what this program is to end with.
func passOn(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if exit.Exited() {
		return ended(exit.ExitCode())
	}
	return ended(128 + int(exit.Sys().(syscall.WaitStatus).Signal())) //nolint:errcheck // as shells do; on Linux it is one
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
	if err == nil {
		root, err = resolve(root)
	}
	if err != nil {
		return layout.Layout{}, fmt.Errorf("state directory: %w", err)
	}
	if filepath.Dir(root) == root {
		return layout.Layout{}, errors.New("-root: the state directory is removed by down, so it cannot be /")
	}
	return layout.Layout{Root: root}, nil
}

// resolve follows the links in a path that need not exist to its end. What is mounted
// in a directory, or over it, goes by the directory's real name.
func resolve(path string) (string, error) {
	followed, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return followed, err
	}
	parent, err := resolve(filepath.Dir(path))
	return filepath.Join(parent, filepath.Base(path)), err
}

// perform does what the user asks for.
func perform(node layout.Layout, args []string) error {
	if len(args) > 0 && args[0] != "check" && os.Geteuid() != 0 {
		return errors.New("must be root, as whom alone a node can run")
	}
	if len(args) > 2 && args[0] == "run" && args[1] == "--" {
		return passOn(run(node, args[2:]))
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
	syscall.Umask(0o022) // users in pods read what the kubelet writes for them
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
