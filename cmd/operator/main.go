// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/servicebulkhead/servicebulkhead/controllers"
)

func main() {
	os.Exit(run(ctrl.SetupSignalHandler(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with everything that it touches passed in; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	options, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case options.version:
		fmt.Fprintln(stdout, version())
		return 0
	}
	logger := options.logger(stderr)
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	if err := serve(ctx, options); err != nil {
		logger.Error(err, "operator ended")
		return 1
	}
	return 0
}

// serve runs the manager until ctx ends.
func serve(ctx context.Context, o options) error {
	if err := o.Metrics.Check(); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find API server: %w", err)
	}
	if o.qps > 0 { // otherwise GetConfig has lifted the client's own limit
		config.QPS, config.Burst = o.qps, o.burst
	}
	mgr, err := ctrl.NewManager(config, controllers.ManagerOptions(o.Options))
	if err != nil {
		return fmt.Errorf("make manager: %w", err)
	}
	err = errors.Join(
		controllers.Setup(mgr, o.Options),
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("ping", healthz.Ping),
	)
	if err != nil {
		return fmt.Errorf("set manager up: %w", err)
	}
	mgr.GetLogger().Info("starting", "version", version())
	return mgr.Start(ctx)
}
