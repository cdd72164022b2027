// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/hack/localplane"
)

const (
	rootModule = "github.com/servicebulkhead/servicebulkhead"

	// SystemNamespace is the operator's own.
	SystemNamespace = "servicebulkhead-system"
	account         = "servicebulkhead-operator"
)

// Bed is a running control plane with config/default on it. It is for one
// goroutine, which must be locked to its thread: on Linux the operators are killed
// when the thread that started them ends.
type Bed struct {
	// Plane is the control plane.
	Plane *localplane.Plane
	// Admin is the cluster's administrator, without a limit on its requests.
	Admin client.WithWatch

	root       string // of the repository
	dir        string // of everything that the bed writes
	kubeconfig string // the operator's
	operators  []*Operator
}

// New builds the operator and starts a control plane with config/default on it. The
// Deployment's pods stay Pending: there are no nodes. The caller must Close the bed.
func New(ctx context.Context) (_ *Bed, err error) {
	ctrl.SetLogger(logr.Discard()) // the operators have logs of their own
	klog.SetLogger(logr.Discard())
	b := &Bed{}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	if b.dir, err = os.MkdirTemp("", "servicebulkhead-testbed-*"); err != nil {
		return b, err
	}
	if err := b.build(ctx); err != nil {
		return b, err
	}
	if b.Plane, err = localplane.Start(ctx, localplane.Options{}); err != nil {
		return b, err
	}
	if b.Admin, err = newAdmin(b.Plane); err != nil {
		return b, err
	}
	return b, b.install(ctx)
}

// build builds the operator's binary.
func (b *Bed) build(ctx context.Context) error {
	text, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", rootModule).Output()
	if err != nil {
		return fmt.Errorf("find the repository: run this inside it: %w", err)
	}
	b.root = strings.TrimSpace(string(text))
	cmd := exec.CommandContext(ctx, "go", "build", "-o", b.binary(), "./cmd/operator")
	cmd.Dir = b.root
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the operator: %w\n%s", err, text)
	}
	return nil
}

func (b *Bed) binary() string { return filepath.Join(b.dir, "operator") }

func newAdmin(plane *localplane.Plane) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	admin, err := client.NewWithWatch(plane.Config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("administrator: %w", err)
	}
	return admin, nil
}

// install applies config/default and gets the operator a token.
func (b *Bed) install(ctx context.Context) (err error) {
	for _, args := range [][]string{
		{"apply", "-k", filepath.Join(b.root, "config", "default")},
		{"wait", "--for=condition=Established", "crd/servicebulkheads.servicebulkhead.io"},
	} {
		if text, err := b.Plane.KubectlCommand(ctx, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("kubectl %s: %w\n%s", args[0], err, text)
		}
	}
	b.kubeconfig, err = b.Plane.ServiceAccountKubeconfig(ctx, SystemNamespace, account)
	return err
}

// Close kills the operators, stops the control plane and removes what was written.
func (b *Bed) Close() error {
	for _, o := range b.operators {
		o.Kill()
	}
	var err error
	if b.Plane != nil {
		err = b.Plane.Stop()
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}
