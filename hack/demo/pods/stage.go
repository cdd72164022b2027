// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
)

const (
	systemNamespace = "servicebulkhead-system"
	operatorName    = "servicebulkhead-operator"
	crd             = "crd/servicebulkheads.servicebulkhead.io"
)

// stage is what the acts share.
type stage struct {
	*story.Teller
	kubectl story.Kubectl
	set     kubernetes.Interface

	dir  string // of the manifests as they are applied; removed at the end
	made bool   // whether there is anything to take away

	payments, load string // the pods of the payment service and of the load
}

func newStage(t *story.Teller) (*stage, error) {
	file := os.Getenv("KUBECONFIG")
	if file == "" {
		return nil, errors.New("KUBECONFIG names no cluster: make demo-pods starts a node of its own")
	}
	file, err := filepath.Abs(file) // kubectl runs elsewhere
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // what is measured must not wait here
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "servicebulkhead-demo-*")
	if err != nil {
		return nil, err
	}
	kubectl := story.Kubectl{Teller: t, Path: "kubectl", Kubeconfig: file, Dir: dir, Cache: filepath.Join(dir, "kubectl")}
	return &stage{Teller: t, kubectl: kubectl, set: set, dir: dir}, nil
}

// prepare writes the manifests and makes sure that there is room for them.
func (s *stage) prepare(ctx context.Context) error {
	root, err := story.Root(ctx)
	if err != nil {
		return err
	}
	operator, err := s.kubectl.Run(ctx, "kustomize", filepath.Join(root, "config", "overlays", "nudge"))
	if err != nil {
		return err
	}
	for name, text := range map[string]string{operatorFile: operator, shopFile: shopManifest, loadFile: loadManifest} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(withImages(text, os.Getenv)), 0o644); err != nil {
			return err
		}
	}
	return s.makeRoom(ctx)
}

// makeRoom takes away what an earlier demo has left. What anybody else has made is
// left alone, and is an error.
func (s *stage) makeRoom(ctx context.Context) error {
	found, err := s.kubectl.Run(ctx, "get", "namespace/"+story.Namespace, "namespace/"+systemNamespace, crd, "--ignore-not-found",
		"--no-headers", "-o", `custom-columns=KIND:.kind,NAME:.metadata.name,MADE:.metadata.labels.`+strings.ReplaceAll(madeLabel, ".", `\.`))
	if err != nil {
		return err
	}
	if theirs := foreign(found); len(theirs) > 0 {
		return fmt.Errorf("the cluster has %s already, and the demo would take that away in the end: "+
			"remove it first, or choose another cluster", strings.Join(theirs, " and "))
	}
	s.made = true
	if strings.TrimSpace(found) == "" {
		return nil
	}
	s.Line("removing what an earlier demo has left …")
	return s.takeAway(ctx, true)
}

// foreign returns the objects that the demo did not make, of lines with their kind,
// name and label.
func foreign(lines string) (names []string) {
	for line := range strings.Lines(lines) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[2] != "true" {
			names = append(names, fields[0]+" "+fields[1])
		}
	}
	return names
}

// takeAway deletes all that the demo makes, and waits for that if told to.
func (s *stage) takeAway(ctx context.Context, wait bool) error {
	how := []string{"--ignore-not-found", fmt.Sprintf("--wait=%t", wait)}
	_, shopErr := s.kubectl.Run(ctx, append([]string{"delete", "namespace", story.Namespace}, how...)...)
	_, operatorErr := s.kubectl.Run(ctx, append([]string{"delete", "-f", operatorFile}, how...)...)
	return errors.Join(shopErr, operatorErr)
}

// close begins to take everything away; a node or cluster that goes on needs a few
// seconds more.
func (s *stage) close(ctx context.Context) error {
	var err error
	if s.made {
		s.Line("taking everything away …")
		err = s.takeAway(ctx, false)
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// showState shows what may tell why the demo could not go on.
func (s *stage) showState(ctx context.Context) {
	for _, args := range [][]string{
		{"get", "pods", "-A"},
		{"-n", story.Namespace, "get", "events", "--sort-by=.lastTimestamp"},
		{"-n", systemNamespace, "logs", "deployment/" + operatorName, "--tail=12"},
	} {
		if err := s.kubectl.Show(ctx, args...); err != nil {
			s.Say("%s", err)
		}
	}
}
