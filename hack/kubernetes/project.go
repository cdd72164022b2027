// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/cli"
)

// projectFlags are what `project` is told.
type projectFlags struct {
	dir        string
	fromFile   []string
	kubeconfig string
	namespace  string
	name       string
}

func runProject() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := cli.RunNoErrOutput(newProjectCommand(ctx)); err != nil {
		fmt.Fprintln(os.Stderr, "project:", err)
		return 1
	}
	return 0
}

func newProjectCommand(ctx context.Context) *cobra.Command {
	var f projectFlags
	cmd := &cobra.Command{
		Use:   "project --dir DIR (--name NAME [--namespace NAMESPACE] [--kubeconfig FILE] | --from-file KEY=FILE…)",
		Short: "Keep a directory equal to a ConfigMap, as a kubelet keeps a volume",
		Long: `Writes a ConfigMap's data into a directory with the kubelet's own atomic writer: one file per key, each
a link through ..data, which is swapped in one step. With --name it follows the ConfigMap until SIGTERM
or SIGINT, like a volume with optional: true: a ConfigMap that does not exist is an empty volume. It acts as
soon as the API server tells of a change; a kubelet waits for its next sync. With --from-file it writes once
and ends. Every projection is one line on standard output.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return f.run(ctx) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "dir", "", "directory to write to; made if missing")
	flags.StringArrayVar(&f.fromFile, "from-file", nil, "KEY=FILE: project this file under this key, once; may be repeated")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file; default: as kubectl finds it")
	flags.StringVar(&f.namespace, "namespace", "default", "namespace of the ConfigMap")
	flags.StringVar(&f.name, "name", "", "name of the ConfigMap to follow")
	return cmd
}

func (f projectFlags) run(ctx context.Context) error {
	if f.dir == "" {
		return errors.New("--dir is required")
	}
	if (f.name == "") == (len(f.fromFile) == 0) {
		return errors.New("exactly one of --name and --from-file is required")
	}
	p, err := newProjector(f.dir, os.Stdout)
	if err != nil {
		return err
	}
	if f.name == "" {
		return f.projectFiles(p)
	}
	return f.follow(ctx, p)
}

func (f projectFlags) projectFiles(p *projector) error {
	configMap := &corev1.ConfigMap{BinaryData: map[string][]byte{}}
	for _, arg := range f.fromFile {
		key, file, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("--from-file %q: must be KEY=FILE", arg)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("--from-file: %w", err)
		}
		configMap.BinaryData[key] = data
	}
	return p.project(configMap)
}

func (f projectFlags) follow(ctx context.Context, p *projector) error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	return follow(ctx, client, f.namespace, f.name, p.project)
}
