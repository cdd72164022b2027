// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/servicebulkhead/servicebulkhead/hack/assets"
)

// startTimeout bounds Start, the build of the binaries aside: on an idle machine
// it takes seconds, and a start that takes this long has failed.
const startTimeout = 3 * time.Minute

// Options say what is to be started. The zero value is the whole plane.
type Options struct {
	// Assets is the directory of the binaries; empty means assets.Dir.
	Assets string
	// LogDir is where the components' output goes, one file each. It is made if
	// missing, and outlives the plane. Empty means a directory that Stop removes.
	LogDir string
	// WithoutControllerManager leaves kube-controller-manager out. Then namespaces
	// stay Terminating, nothing is garbage collected, and no namespace gets its
	// default ServiceAccount.
	WithoutControllerManager bool
	// Progress is where a build of the binaries, which may take minutes, tells
	// about itself; nil means os.Stderr.
	Progress io.Writer
}

// Plane is a running control plane. Its methods may be called from several
// goroutines at once.
type Plane struct {
	// Config is the cluster administrator's.
	Config *rest.Config
	// KubeconfigFile is the path of the cluster administrator's kubeconfig.
	KubeconfigFile string
	// Assets is the directory of the binaries.
	Assets string
	// Logs is the directory of the components' output.
	Logs string

	root    *root
	server  *envtest.ControlPlane // etcd and kube-apiserver
	manager *component            // nil without kube-controller-manager

	users   sync.Mutex
	stop    sync.Once
	stopErr error
}

// Start starts a control plane and returns when it can be used: the API server is
// ready, and, unless left out, the controllers are at work. The caller must
// Stop it. ctx bounds the start alone. On an error nothing is left running, and
// the error holds the last lines of what the components said; when ctx ends,
// it wraps the cause.
func Start(ctx context.Context, options Options) (*Plane, error) {
	if options.Assets == "" {
		dir, err := assets.Dir(ctx, progressOf(options))
		if err != nil {
			return nil, err
		}
		options.Assets = dir
	}
	if err := checkAssets(options); err != nil {
		return nil, err
	}
	root, err := newRoot(options.LogDir)
	if err != nil {
		return nil, err
	}
	p := &Plane{Assets: options.Assets, Logs: root.logs, root: root}
	if err := p.start(ctx, options); err != nil {
		return nil, errors.Join(fmt.Errorf("control plane: %w%s", err, tails(root.logs)), p.Stop())
	}
	return p, nil
}

func progressOf(options Options) io.Writer {
	if options.Progress == nil {
		return os.Stderr
	}
	return options.Progress
}

// checkAssets refuses binaries that cannot do what is asked, such as envtest's
// own, which come without controllers.
func checkAssets(options Options) error {
	if options.WithoutControllerManager {
		return nil
	}
	_, err := os.Stat(filepath.Join(options.Assets, controllerManager))
	if err != nil {
		return fmt.Errorf("no %s among the binaries: namespaces could not be deleted, nothing would be garbage collected, "+
			"and no namespace would get its default ServiceAccount; unset %s to use the project's own build, "+
			"or start the plane without it: %w", controllerManager, assets.Env, err)
	}
	return nil
}

func (p *Plane) start(ctx context.Context, options Options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready within %s: %w", startTimeout, context.DeadlineExceeded))
	defer cancel()
	if err := p.startAPIServer(ctx); err != nil {
		return err
	}
	if options.WithoutControllerManager {
		return nil
	}
	return p.startControllerManager(ctx)
}

// Stop stops every process of the plane and removes its directory. It takes a
// second or two, half a minute at most: what does not end when asked to is
// killed, which is no error. A second call does nothing and returns what the
// first one did.
func (p *Plane) Stop() error {
	p.stop.Do(func() { p.stopErr = p.stopAll() })
	return p.stopErr
}

// stopAll stops the components in the reverse order of their start, so that
// none of them loses its server.
func (p *Plane) stopAll() error {
	if p.manager != nil {
		p.manager.stop()
	}
	if p.server != nil {
		// Its error tells what had to be killed; whether that is gone is what counts.
		_ = p.server.Stop()
	}
	return errors.Join(endAll(p.Processes()), p.root.remove())
}

// Processes returns the ids of the plane's processes by component: etcd,
// kube-apiserver and kube-controller-manager. After Stop there are none.
func (p *Plane) Processes() map[string]int { return p.root.pids() }

// Kubectl returns the path of kubectl.
func (p *Plane) Kubectl() string { return p.Binary("kubectl") }

// KubectlCommand is kubectl as the cluster's administrator, ready to run; it is
// killed when ctx ends.
func (p *Plane) KubectlCommand(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, p.Kubectl(), append([]string{"--kubeconfig", p.KubeconfigFile}, args...)...)
}

// Binary returns the path of a binary of the plane's: "kubectl", "project" …
func (p *Plane) Binary(name string) string { return filepath.Join(p.Assets, name) }
