// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/assets"
	"github.com/servicebulkhead/servicebulkhead/hack/localplane"
)

const usage = `usage: cluster [assets | -- COMMAND [ARGUMENT…]]`

func main() {
	os.Exit(exitCode(runUntilSignal(os.Args[1:])))
}

func runUntilSignal(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // whoever reads the output may go first; the plane is still stopped
	ctx, cancel := localplane.WithParent(ctx)
	defer cancel()
	return run(ctx, args)
}

// exitCode is the command's if it had one; any other failure is told, and is 1.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "cluster:", err)
	return 1
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 0:
		return withPlane(ctx, hold)
	case args[0] == "assets" && len(args) == 1:
		return printAssets(ctx)
	case args[0] == "--" && len(args) > 1:
		return withPlane(ctx, func(ctx context.Context, plane *localplane.Plane) error {
			return command(ctx, plane, args[1:])
		})
	default:
		return errors.New(usage)
	}
}

func printAssets(ctx context.Context) error {
	dir, err := assets.Dir(ctx, os.Stderr)
	if err == nil {
		fmt.Println(dir)
	}
	return err
}

// withPlane calls use with a plane, and stops the plane whatever comes.
func withPlane(ctx context.Context, use func(context.Context, *localplane.Plane) error) (err error) {
	plane, err := localplane.Start(ctx, localplane.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	return use(ctx, plane)
}

const howTo = `The control plane is up: %s. In another shell:

    export KUBECONFIG=%s
    export PATH=%s:$PATH
    kubectl apply -k config/crd
    kubectl apply -k config/policies
    kubectl apply -f config/samples

The API server checks ServiceBulkheads from here on, and warns of what is risky. It has no nodes, so pods stay Pending; the operator
runs as a process:

    make build && bin/operator -leader-elect=false -log-format=text

Logs are in %s. Ctrl-C stops everything and removes it.
`

// hold tells how to use the plane, and waits for the signal to end.
func hold(ctx context.Context, plane *localplane.Plane) error {
	fmt.Printf(howTo, plane.Config.Host, plane.KubeconfigFile, plane.Assets, plane.Logs)
	<-ctx.Done()
	fmt.Println("stopping")
	return nil
}

// command runs a command against the plane. On a signal it is asked to end.
func command(ctx context.Context, plane *localplane.Plane, args []string) error {
	path := plane.Assets + string(filepath.ListSeparator) + os.Getenv("PATH")
	if err := os.Setenv("PATH", path); err != nil { // here, so that the command itself is looked up in it
		return fmt.Errorf("PATH: %w", err)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+plane.KubeconfigFile, assets.Env+"="+plane.Assets)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd.Run()
}
