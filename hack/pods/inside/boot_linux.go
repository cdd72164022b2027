// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
	"github.com/servicebulkhead/servicebulkhead/hack/pods/parts"
	"github.com/servicebulkhead/servicebulkhead/hack/pods/pki"
)

const (
	// bootTime is how long the node may take; a quiet machine needs a tenth.
	bootTime = 2 * time.Minute
	// poll is how often a component is asked whether it is ready.
	poll = 50 * time.Millisecond
)

// Boot turns the namespaces that this process is the first one of into a node that
// runs pods. What it does is told on report as messages, also how it ended. When
// Boot returns nil all components run, and are started again when they end, as
// long as this process lives.
func Boot(ctx context.Context, node layout.Layout, report io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, bootTime, fmt.Errorf("not there after %s", bootTime))
	defer cancel()
	b := &booting{node: node, messages: json.NewEncoder(report)}
	err := b.boot(ctx)
	if err == nil {
		close(b.supervisor.booted)
		return b.messages.Encode(Message{Ready: true})
	}
	var failure Failure
	if !errors.As(err, &failure) {
		failure = Failure{Reason: err.Error()}
	}
	return errors.Join(err, b.messages.Encode(Message{Failure: &failure}))
}

type booting struct {
	node       layout.Layout
	messages   *json.Encoder
	supervisor *supervisor
	client     client
}

func (b *booting) boot(ctx context.Context) error {
	programs, err := b.prepare()
	if err != nil {
		return err
	}
	b.supervisor = newSupervisor(b.node)
	for _, do := range []func() error{
		func() error { return b.supervisor.start(foundation(b.node)) },
		func() error { return b.await(ctx, "containerd listens", "containerd", b.client.containerd) },
		func() error { return b.importImage(ctx, programs.PauseImage) },
		func() error { return b.await(ctx, "the API server is ready", "kube-apiserver", b.client.apiServer) },
		func() error { return b.supervisor.start(superstructure(b.node)) },
		func() error { return b.await(ctx, "the node is Ready", "kubelet", b.client.nodeReady) },
		func() error { return b.await(ctx, "Services are in force", "kube-proxy", b.client.proxy) },
		func() error {
			return b.await(ctx, "the default ServiceAccount exists", "kube-controller-manager", b.client.serviceAccount)
		},
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// prepare does all that comes before the first component.
func (b *booting) prepare() (parts.Programs, error) {
	programs, err := parts.Read(b.node.PartsFile())
	if err != nil {
		return programs, fmt.Errorf("programs: %w", err)
	}
	v, err := newValues(b.node, programs)
	if err != nil {
		return programs, err
	}
	if err := errors.Join(writeConfig(v), pki.Write(b.node)); err != nil {
		return programs, err
	}
	if err := settle(b.node); err != nil {
		return programs, err
	}
	b.client, err = newClient(b.node)
	return programs, errors.Join(err, b.messages.Encode(Message{Step: "namespaces, certificates and configuration"}))
}

// await asks until the answer is nil, the boot's time is over, or a component ends.
func (b *booting) await(ctx context.Context, step, component string, ask func(context.Context) error) error {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		err := ask(ctx)
		if err == nil {
			return b.messages.Encode(Message{Step: step})
		}
		select {
		case <-ticker.C:
		case failure := <-b.supervisor.failed:
			return failure
		case <-ctx.Done():
			return Failure{Log: component, Reason: fmt.Sprintf("%s: %v: %v", step, context.Cause(ctx), err)}
		}
	}
}

// importImage makes an image known to the kubelet's containerd.
func (b *booting) importImage(ctx context.Context, archive string) error {
	ctr := component{"ctr", []string{"--namespace=k8s.io", "images", "import", archive}}
	ending, err := b.supervisor.run(ctr)
	if err != nil {
		return err
	}
	select {
	case status := <-ending:
		if status != 0 {
			return Failure{Log: ctr.name, Reason: "import of the pause image " + describe(status)}
		}
		return b.messages.Encode(Message{Step: "the pause image is imported"})
	case failure := <-b.supervisor.failed:
		return failure
	case <-ctx.Done():
		return Failure{Log: ctr.name, Reason: "import of the pause image: " + context.Cause(ctx).Error()}
	}
}
