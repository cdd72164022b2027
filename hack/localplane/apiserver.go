// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// What envtest grants each component. The times are for a machine that is busy
// with other tests.
const (
	componentStartTimeout = 60 * time.Second
	componentStopTimeout  = 10 * time.Second
)

// startAPIServer starts etcd and kube-apiserver, and makes the administrator.
func (p *Plane) startAPIServer(ctx context.Context) error {
	server, err := newServer(p.root, p.Binary)
	if err != nil {
		return err
	}
	p.server = server
	started := make(chan error, 1)
	go func() { started <- server.Start() }()
	select {
	case err := <-started:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		giveUp(p.root, started)
		return context.Cause(ctx)
	}
	return p.addAdmin(ctx)
}

// newServer is envtest's control plane. Its Environment is not used: beyond this
// it brings webhooks, and a directory for them that outlives a killed process.
func newServer(root *root, binary func(string) string) (*envtest.ControlPlane, error) {
	etcd, err1 := newEtcd(root, binary("etcd"))
	server, err2 := newAPIServer(root, binary("kube-apiserver"))
	plane := &envtest.ControlPlane{Etcd: etcd, APIServer: server, KubectlPath: binary("kubectl")}
	return plane, errors.Join(err1, err2)
}

func newEtcd(root *root, binary string) (*envtest.Etcd, error) {
	launch, err := root.prepare("etcd", binary)
	if err != nil {
		return nil, err
	}
	return &envtest.Etcd{
		Path: launch.path, DataDir: root.path("etcd"), Out: launch.log, Err: launch.log,
		StartTimeout: componentStartTimeout, StopTimeout: componentStopTimeout,
	}, nil
}

func newAPIServer(root *root, binary string) (*envtest.APIServer, error) {
	launch, err := root.prepare("kube-apiserver", binary)
	if err != nil {
		return nil, err
	}
	server := &envtest.APIServer{
		Path: launch.path, CertDir: root.path("kube-apiserver"), Out: launch.log, Err: launch.log,
		StartTimeout: componentStartTimeout, StopTimeout: componentStopTimeout,
	}
	server.Configure().
		// envtest switches ServiceAccount off, having no controller that makes the accounts.
		Disable("disable-admission-plugins").
		// By default it looks for an address of this machine that others can reach, and fails without
		// one. It is told to other API servers and to pods, of which there are none.
		Set("advertise-address", "127.0.0.1").
		Set("endpoint-reconciler-type", "none")
	return server, nil
}

// giveUp ends a start that is under way, and returns when it has ended: envtest
// itself cannot be asked to stop starting.
func giveUp(root *root, started <-chan error) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		for _, pid := range root.pids() {
			killGroup(pid)
		}
		select {
		case <-started:
			return
		case <-ticker.C:
		}
	}
}

// addAdmin makes the administrator, and waits until the default namespace is
// there: the API server makes it a moment after it says that it is ready.
func (p *Plane) addAdmin(ctx context.Context) error {
	unthrottled := &rest.Config{QPS: -1}
	admin, err := p.addUser("admin", []string{"system:masters"}, unthrottled)
	if err != nil {
		return err
	}
	p.Config, p.KubeconfigFile = admin.Config, admin.KubeconfigFile
	client, err := kubernetes.NewForConfig(p.Config)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the default namespace: %w", context.Cause(ctx))
	}
	return nil
}
