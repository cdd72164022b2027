// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

const (
	namespace = "shop"
	configMap = "service-bulkheads"
)

func declareBulkheads(ctx context.Context, s *stage) error {
	for _, args := range [][]string{
		{"apply", "-f", "config/samples/namespace.yaml", "-f", "config/samples/payments.yaml", "-f", "config/samples/search.yaml"},
		{"-n", namespace, "wait", "--for=condition=Ready", "sbh", "--all", "--timeout=30s"},
		{"-n", namespace, "get", "sbh"},
	} {
		if err := s.kubectl(ctx, args...); err != nil {
			return err
		}
	}
	ready, err := s.runKubectl(ctx, s.plane.KubeconfigFile, "-n", namespace, "get", "sbh",
		"-o", `jsonpath={.items[*].status.conditions[?(@.type=="Ready")].reason}`)
	if err != nil {
		return err
	}
	s.expectEqual("bulkheads with the status Published", strings.Count(ready, "Published"), 2)
	return nil
}

// projectFiles starts the projector, which keeps the directory equal to the
// ConfigMap as a kubelet keeps a volume.
func projectFiles(ctx context.Context, s *stage) error {
	s.out.command("project --namespace shop --name service-bulkheads --dir etc-servicebulkhead")
	_, err := s.start("project", s.plane.Binary("project"), "--kubeconfig="+s.plane.KubeconfigFile,
		"--namespace="+namespace, "--name="+configMap, "--dir="+s.mount)
	if err != nil {
		return err
	}
	var text []byte
	err = await(ctx, 15*time.Second, "files of the ConfigMap", func(context.Context) (_ bool, err error) {
		text, err = os.ReadFile(filepath.Join(s.mount, bulkheadconfig.Key))
		return err == nil, err
	})
	if err != nil {
		return err
	}
	s.out.command("cat etc-servicebulkhead/" + bulkheadconfig.Key)
	s.out.output(string(text))
	document, err := bulkheadconfig.Decode(text)
	if err != nil {
		return err
	}
	s.expectEqual("services in the document", len(document.Services), 2)
	return nil
}
