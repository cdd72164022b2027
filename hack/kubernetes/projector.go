// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/volume/configmap"
	"k8s.io/kubernetes/pkg/volume/util"
)

// projector writes ConfigMaps into one directory. It must not be used from two
// goroutines at once: the kubelet's writer is not made for that.
type projector struct {
	writer *util.AtomicWriter
	out    io.Writer
}

func newProjector(dir string, out io.Writer) (*projector, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("--dir: %w", err)
	}
	writer, err := util.NewAtomicWriter(dir, dir)
	if err != nil {
		return nil, fmt.Errorf("--dir: %w", err)
	}
	return &projector{writer: writer, out: out}, nil
}

// project makes the directory hold exactly the ConfigMap's data, and says so in
// one line. An empty ConfigMap leaves ..data and nothing else.
func (p *projector) project(configMap *corev1.ConfigMap) error {
	start := time.Now()
	mode := corev1.ConfigMapVolumeSourceDefaultMode
	payload, err := configmap.MakePayload(nil, configMap, &mode, nil, true)
	if err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	if err := p.writer.Write(payload, nil); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	version := configMap.ResourceVersion
	if version == "" {
		version = "none"
	}
	_, err = fmt.Fprintf(p.out, "projected resourceVersion=%s files=%d duration=%s\n",
		version, len(payload), time.Since(start).Round(time.Microsecond))
	return err
}
