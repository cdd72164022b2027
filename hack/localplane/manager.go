// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

const controllerManager = "kube-controller-manager"

// startControllerManager starts kube-controller-manager, and waits until its
// controllers are at work.
func (p *Plane) startControllerManager(ctx context.Context) error {
	user, err := p.User("system:" + controllerManager)
	if err != nil {
		return err
	}
	launch, err := p.root.prepare(controllerManager, p.Binary(controllerManager))
	if err != nil {
		return err
	}
	p.manager, err = startComponent(launch,
		"--kubeconfig="+user.KubeconfigFile,
		"--use-service-account-credentials", // so that each controller has its own rights, as in a real cluster
		"--service-account-private-key-file="+filepath.Join(p.root.path("kube-apiserver"), "sa-signer.key"),
		"--leader-elect=false",
		"--secure-port=0", // nobody asks it for metrics, and a free port may be taken a moment later
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	)
	if err != nil {
		return err
	}
	return p.waitForControllers(ctx)
}

// waitForControllers waits for what controllers make in every namespace: it
// shows that they work, which no health endpoint says.
func (p *Plane) waitForControllers(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(p.Config)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	core := client.CoreV1()
	err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		_, accountErr := core.ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		_, rootErr := core.ConfigMaps(metav1.NamespaceDefault).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return accountErr == nil && rootErr == nil, p.manager.endedError()
	})
	if ctx.Err() != nil {
		return fmt.Errorf("wait for the controllers: %w", context.Cause(ctx))
	}
	return err
}

// component is a process that is not envtest's to run.
type component struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process is gone
}

func startComponent(launch launch, args ...string) (*component, error) {
	cmd := exec.Command(launch.path, args...)
	cmd.Stdout, cmd.Stderr = launch.log, launch.log
	// Ctrl-C is for the process that holds the plane, which then stops it in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &component{cmd: cmd, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
	}()
	return c, nil
}

// endedError is an error once the process has ended.
func (c *component) endedError() error {
	select {
	case <-c.ended:
		return fmt.Errorf("%s ended: %v", filepath.Base(c.cmd.Path), c.cmd.ProcessState)
	default:
		return nil
	}
}

// stop asks the process to end, and returns when it has or when its time is up.
func (c *component) stop() {
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGTERM) // an error means that it is gone
	select {
	case <-c.ended:
	case <-time.After(componentStopTimeout):
	}
}
