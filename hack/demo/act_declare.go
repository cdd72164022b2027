// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

func declareBulkheads(ctx context.Context, s *stage) error {
	for _, args := range [][]string{
		{"apply", "-f", "config/samples/namespace.yaml", "-f", "config/samples/payments.yaml", "-f", "config/samples/search.yaml"},
		{"-n", story.Namespace, "wait", "--for=condition=Ready", "sbh", "--all", "--timeout=30s"},
		{"-n", story.Namespace, "get", "sbh"},
	} {
		if err := s.kubectl.Show(ctx, args...); err != nil {
			return err
		}
	}
	ready, err := s.kubectl.Run(ctx, "-n", story.Namespace, "get", "sbh",
		"-o", `jsonpath={.items[*].status.conditions[?(@.type=="Ready")].reason}`)
	if err != nil {
		return err
	}
	s.ExpectEqual("bulkheads with the status Published", strings.Count(ready, "Published"), 2)
	return nil
}

// projectFiles starts the projector, which keeps the directory equal to the
// ConfigMap as a kubelet keeps a volume.
func projectFiles(ctx context.Context, s *stage) error {
	s.Command("project --namespace shop --name service-bulkheads --dir etc-servicebulkhead")
	_, err := s.start("project", s.plane.Binary("project"), "--kubeconfig="+s.plane.KubeconfigFile,
		"--namespace="+story.Namespace, "--name="+story.ConfigMap, "--dir="+s.mount)
	if err != nil {
		return err
	}
	var text []byte
	err = story.Await(ctx, 15*time.Second, "files of the ConfigMap", func(context.Context) (_ bool, err error) {
		text, err = os.ReadFile(filepath.Join(s.mount, bulkheadconfig.Key))
		return err == nil, err
	})
	if err != nil {
		return err
	}
	s.Command("cat etc-servicebulkhead/" + bulkheadconfig.Key)
	s.Output(string(text))
	document, err := bulkheadconfig.Decode(text)
	if err != nil {
		return err
	}
	s.ExpectEqual("services in the document", len(document.Services), 2)
	return nil
}
