// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package path

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/servicebulkhead/servicebulkhead/controllers"
	"github.com/servicebulkhead/servicebulkhead/hack/localplane"
	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

func TestPath(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(10 * time.Millisecond)
	RunSpecs(t, "Path")
}

var plane *localplane.Plane

var _ = BeforeSuite(func(ctx context.Context) {
	ctrl.SetLogger(GinkgoLogr)
	var err error
	plane, err = localplane.Start(ctx, localplane.Options{Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(plane.Stop)
	kubectl(ctx, "apply", "-k", "../../config/default")
	kubectl(ctx, "wait", "--for=condition=Established", "crd/servicebulkheads.servicebulkhead.io")
}, NodeTimeout(30*time.Minute)) // the binaries may have to be built

var _ = Describe("A change", func() {
	It("travels from kubectl to a running limiter, and leaves calls in flight alone", func(ctx SpecContext) {
		startOperator(ctx)
		dir := GinkgoT().TempDir()
		follow(dir)
		payments := startAgent(dir).Bulkhead("payments")
		_, limited := payments.Limit()
		Expect(limited).To(BeFalse(), "nothing is declared yet")

		kubectl(ctx, "apply", "-f", "../../config/samples/namespace.yaml", "-f", "../../config/samples/payments.yaml")
		Eventually(payments.Stats).Should(And(HaveField("Limit", 25), HaveField("MaxWait", 50*time.Millisecond),
			HaveField("ReclaimAfter", 30*time.Second), HaveField("Tasks.Capacity", 64), HaveField("Mode", limiter.Enforce)))
		permit, ok := payments.TryAcquire()
		Expect(ok).To(BeTrue())

		patch(ctx, `{"spec":{"limit":1}}`)
		Eventually(payments.Stats).Should(And(HaveField("Limit", 1), HaveField("InFlight", 1)))
		_, ok = payments.TryAcquire()
		Expect(ok).To(BeFalse(), "the call that was admitted before counts")

		refused := plane.KubectlCommand(ctx, "-n", "shop", "patch", "sbh", "payments", "--type=merge", "-p", `{"spec":{"maxWait":"61s"}}`)
		out, err := refused.CombinedOutput()
		Expect(err).To(HaveOccurred())
		Expect(string(out)).To(ContainSubstring("spec.maxWait"))
		Expect(permit.Release()).To(Equal(limiter.Released))

		patch(ctx, `{"spec":{"limit":0}}`)
		Eventually(payments.Stats).Should(HaveField("Limit", 0))
		_, ok = payments.TryAcquire()
		Expect(ok).To(BeFalse(), "0 admits nothing")

		kubectl(ctx, "-n", "shop", "delete", "sbh", "payments")
		Eventually(payments.Stats).Should(HaveField("Mode", limiter.PassThrough))
	}, SpecTimeout(2*time.Minute))
})

// O02, open-feature/flagd#42, and O04, prometheus-operator/prometheus-operator#4708,
// with the volume written by the kubelet's own code.
var _ = Describe("The kubelet's writer", func() {
	It("O02 O04: swaps that the agent follows, and errors that end with the old content", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		project(ctx, dir, document(1))
		a := startAgent(dir)
		payments := a.Bulkhead("payments")
		for limit := 2; limit <= 4; limit++ {
			project(ctx, dir, document(limit))
			Eventually(payments.Stats).Should(HaveField("Limit", limit))
		}
		project(ctx, dir, strings.Replace(document(9), `"limit": 9`, `"limit": "9"`, 1))
		Eventually(a.Source).Should(HaveField("Err", MatchError(ContainSubstring(`services["payments"].limit`))))
		Expect(payments.Stats()).To(HaveField("Limit", 4), "the last good document stays in force")
		project(ctx, dir, document(4))
		Eventually(a.Source).Should(HaveField("Err", BeNil()))
		Expect(payments.Stats()).To(HaveField("Limit", 4))
		Expect(a.Source()).To(And(HaveField("Updatable", true), HaveField("Reloads", uint64(4))))
	}, SpecTimeout(time.Minute))
})

// startOperator runs the operator, as its own ServiceAccount, until the spec ends.
func startOperator(ctx context.Context) {
	GinkgoHelper()
	kubeconfig, err := plane.ServiceAccountKubeconfig(ctx, "servicebulkhead-system", "servicebulkhead-operator")
	Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	o := controllers.Options{ProbeAddress: "0"}
	mgr, err := ctrl.NewManager(config, controllers.ManagerOptions(o))
	Expect(err).NotTo(HaveOccurred())
	Expect(controllers.Setup(mgr, o)).To(Succeed())
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	DeferCleanup(func() {
		stop()
		Eventually(ended).Should(Receive(BeNil()))
	})
}

// startAgent runs an agent until the spec ends. It does not poll: events must do.
func startAgent(dir string) *agent.Agent {
	GinkgoHelper()
	log := slog.New(slog.NewTextHandler(GinkgoWriter, nil))
	a, err := agent.New(dir, agent.WithPollInterval(time.Hour), agent.WithLameDuck(0), agent.WithLogger(log))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) error {
		_, err := a.Shutdown(ctx)
		return err
	})
	return a
}

// follow keeps the directory equal to the ConfigMap, as a kubelet keeps a volume.
func follow(dir string) {
	GinkgoHelper()
	cmd := exec.Command(plane.Binary("project"), "--kubeconfig", plane.KubeconfigFile,
		"--namespace", "shop", "--name", "service-bulkheads", "--dir", dir)
	cmd.Stdout, cmd.Stderr = GinkgoWriter, GinkgoWriter
	Expect(cmd.Start()).To(Succeed())
	DeferCleanup(func() {
		Expect(cmd.Process.Signal(os.Interrupt)).To(Succeed())
		Expect(cmd.Wait()).To(Succeed())
	})
}

// project writes one document into the directory.
func project(ctx context.Context, dir, text string) {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "document")
	Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	out, err := exec.CommandContext(ctx, plane.Binary("project"), "--dir", dir,
		"--from-file", bulkheadconfig.Key+"="+file).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
}

func document(limit int) string {
	GinkgoHelper()
	text, err := bulkheadconfig.Encode(map[string]bulkheadconfig.Service{"payments": {Limit: limit, ReclaimAfter: time.Minute}})
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

func patch(ctx context.Context, spec string) {
	GinkgoHelper()
	kubectl(ctx, "-n", "shop", "patch", "sbh", "payments", "--type=merge", "-p", spec)
}

func kubectl(ctx context.Context, args ...string) {
	GinkgoHelper()
	out, err := plane.KubectlCommand(ctx, args...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
}
