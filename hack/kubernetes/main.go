// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

// applets are the programs by name. Each reads os.Args, as it would alone, and
// returns its exit code.
var applets = map[string]func() int{
	"etcd":                    runEtcd,
	"kube-apiserver":          runAPIServer,
	"kube-controller-manager": runControllerManager,
	"kube-proxy":              runProxy,
	"kube-scheduler":          runScheduler,
	"kubectl":                 runKubectl,
	"kubelet":                 runKubelet,
	"project":                 runProject,
}

func main() {
	run, args, err := choose(os.Args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	dieWithParent()
	os.Args = args
	os.Exit(run())
}

// choose finds the applet that argv asks for, and the arguments it shall see.
func choose(argv []string) (func() int, []string, error) {
	if run := applets[filepath.Base(argv[0])]; run != nil {
		return run, argv, nil
	}
	if len(argv) > 1 && applets[argv[1]] != nil {
		return applets[argv[1]], argv[1:], nil
	}
	names := slices.Sorted(maps.Keys(applets))
	return nil, nil, fmt.Errorf("usage: %s NAME [ARGUMENT…], where NAME is one of %s",
		filepath.Base(argv[0]), strings.Join(names, ", "))
}
