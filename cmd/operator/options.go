// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/servicebulkhead/servicebulkhead/controllers"
	"github.com/servicebulkhead/servicebulkhead/controllers/nudge"
)

// options are the command line.
type options struct {
	controllers.Options

	qps       float32 // 0 means without a limit
	burst     int
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
	flags.StringVar(&o.Metrics.Address, "metrics-bind-address", ":8443", "where to serve /metrics: an `address`; 0 means nowhere")
	flags.BoolVar(&o.Metrics.Secure, "metrics-secure", true, "serve metrics in HTTPS, and only to whom the cluster's RBAC lets "+
		"get the non-resource URL /metrics; without it in plain HTTP, to everybody who can reach the address")
	flags.StringVar(&o.Metrics.CertDir, "metrics-cert-dir", "", "the `directory` with tls.crt and tls.key for the metrics, "+
		"which may be renewed at any time; empty means a certificate that the operator signs itself at each start")
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
	flags.BoolVar(&o.Nudge, "nudge", false, "have pods with the label "+nudge.Label+"=enabled follow a change within about a second; "+
		"takes the rights of config/nudge")
	flags.Float64Var(&o.NudgeRate, "nudge-rate", nudge.DefaultRate, "how many `pods` to nudge a second, where --nudge is set")
	flags.Func("kube-api-qps", "the most `requests` a second to send to the API server; absent or 0, the API server's own "+
		"priority and fairness decides", func(text string) error { return setRate(&o.qps, text) })
	flags.IntVar(&o.burst, "kube-api-burst", defaultBurst, "the most `requests` to send at once, where --kube-api-qps is set")
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
	if len(o.Namespaces) == 0 && list != "" {
		return errors.New("names no namespace; an empty text means all")
	}
	return nil
}

// defaultBurst goes with a limit on the requests that sets none of its own.
const defaultBurst = 100

func setRate(rate *float32, text string) error {
	value, err := strconv.ParseFloat(text, 32)
	if err != nil || !(value >= 0) || math.IsInf(value, 0) {
		return errors.New("must be a number of at least 0")
	}
	*rate = float32(value)
	return nil
}

// check refuses what the flags' types admit and the operator cannot use.
func (o options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q: there are flags only, no arguments", rest[0])
	case o.logFormat != "json" && o.logFormat != "text":
		return fmt.Errorf("--log-format: %q: must be json or text", o.logFormat)
	case o.burst < 1:
		return fmt.Errorf("--kube-api-burst: %d: must be at least 1", o.burst)
	case !(o.NudgeRate > 0) || math.IsInf(o.NudgeRate, 0): // NaN is no rate either
		return fmt.Errorf("--nudge-rate: %v: must be a number above 0", o.NudgeRate)
	case o.Metrics.CertDir != "" && !o.Metrics.Secure:
		return errors.New("--metrics-cert-dir: must not be set with --metrics-secure=false: plain HTTP has no certificate")
	case o.Resync < time.Second: // client-go's own minimum
		return fmt.Errorf("--resync-period: %s: must be at least 1s", o.Resync)
	}
	return nil
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
