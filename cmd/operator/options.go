// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/servicebulkhead/servicebulkhead/controllers"
)

// options are the command line.
type options struct {
	controllers.Options

	logLevel  slog.Level
	logFormat string
	version   bool
}

// parse reads the command line. It has told stderr about an error when it
// returns one; the error is flag.ErrHelp after -h.
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("operator", flag.ContinueOnError)
	flags.SetOutput(stderr)
	config.RegisterFlags(flags)
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", "127.0.0.1:8080",
		"where to serve /metrics, in plain HTTP and to everybody who can reach the `address`; 0 means nowhere")
	flags.StringVar(&o.ProbeAddress, "health-probe-bind-address", ":8081",
		"where to serve /healthz and /readyz: an `address`; 0 means nowhere")
	flags.BoolVar(&o.LeaderElection, "leader-elect", true,
		"work only while holding the Lease "+controllers.LeaderElectionID)
	flags.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", "",
		"the `namespace` of the Lease; empty means the pod's own")
	flags.Func("namespaces", "the only `namespaces` to watch, separated by commas; empty means all",
		func(list string) error { return setNamespaces(&o.Options, list) })
	flags.DurationVar(&o.Resync, "resync-period", controllers.DefaultResync,
		"how often to look at everything without a cause, as a `duration`")
	flags.TextVar(&o.logLevel, "log-level", slog.LevelInfo, "the least `level` to log: debug, info, warn or error")
	flags.StringVar(&o.logFormat, "log-format", "json", "the `format` of the log: json or text")
	flags.BoolVar(&o.version, "version", false, "print the version and exit")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if err := o.check(flags.Args()); err != nil {
		fmt.Fprintln(stderr, err)
		return o, err
	}
	return o, nil
}

func setNamespaces(o *controllers.Options, list string) error {
	o.Namespaces = nil
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			o.Namespaces = append(o.Namespaces, name)
		}
	}
	return nil
}

// check refuses what the flags' types admit and the operator cannot use.
func (o options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q: there are flags only, no arguments", rest[0])
	case o.logFormat != "json" && o.logFormat != "text":
		return fmt.Errorf("--log-format: %q: must be json or text", o.logFormat)
	case o.Resync < time.Second: // client-go's own minimum
		return fmt.Errorf("--resync-period: %s: must be at least 1s", o.Resync)
	}
	return nil
}

func (o options) logger(out io.Writer) logr.Logger {
	how := &slog.HandlerOptions{Level: o.logLevel}
	if o.logFormat == "text" {
		return logr.FromSlogHandler(slog.NewTextHandler(out, how))
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(out, how))
}

// version is what the Go toolchain noted at build time: the module's version or
// the commit, where it knew one.
func version() string {
	name := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		name = info.Main.Version
	}
	return fmt.Sprintf("servicebulkhead-operator %s %s", name, runtime.Version())
}
