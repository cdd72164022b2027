// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
)

// rate is how many requests a second the load generator sends where nothing else
// is said.
const rate = 500

// rig is a shop under load, in a namespace of its own: a generator sends requests to
// the shop's Service, whose pods call payments through the bulkhead of that name.
// There is no preStop hook: the agent's lame duck time is all that covers the moments
// in which a pod that ends is still an endpoint.
type rig struct {
	namespace string
	// dependency and generator are the pods of payments and of the load.
	dependency, generator *corev1.Pod
	endings               *endings
	// start is what the generator had seen when the spec began.
	start words.Load
	// tooEarly is how many requests failed before the Service led anywhere.
	tooEarly int
}

// newRig starts everything but the load. A test may change the bulkhead and the shop.
func newRig(ctx context.Context, name string, replicas int, change func(*v1alpha1.ServiceBulkhead, *appsv1.Deployment)) *rig {
	GinkgoHelper()
	r := &rig{namespace: newNamespace(ctx, name)}
	r.endings = watchEndings(ctx, r.namespace)
	applyObjects(ctx, payments(r.namespace), service(r.namespace, "payments", paymentsPort), service(r.namespace, "shop", shopPort))
	// Far more than the load needs.
	limits := bulkhead(r.namespace, "payments", 1000)
	application := shop(r.namespace, "shop", int32(replicas), serviceURL(ctx, r.namespace, "payments"))
	// All at once: the old pods end in the same moment, and a restart takes no longer
	// than its slowest pod.
	application.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{
		MaxSurge: new(intstr.FromString("100%")), MaxUnavailable: new(intstr.FromInt32(0)),
	}
	change(limits, application)

	// The limits first: pods that start before would wait for their kubelet to look again.
	applyObjects(ctx, limits)
	kubectl(ctx, "-n", r.namespace, "wait", "--for=condition=Ready", "--timeout=60s", "servicebulkhead/payments")
	applyObjects(ctx, application, roomyGenerator(r.namespace, serviceURL(ctx, r.namespace, "shop")+"/buy"))
	r.dependency = ready(ctx, r.namespace, "payments", 1)[0]
	r.generator = ready(ctx, r.namespace, "generator", 1)[0]
	inForce(ctx, ready(ctx, r.namespace, "shop", replicas), *limits.Spec.Limit)
	r.tooEarly = r.firstAnswer(ctx).Failed
	return r
}

// roomyGenerator is a load generator at rest, with memory for a great many requests
// under way: those that nobody answers for a while.
func roomyGenerator(namespace, target string) *appsv1.Deployment {
	d := generator(namespace, target, 0)
	d.Spec.Template.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory] = resource.MustParse("512Mi")
	return d
}

// firstAnswer sends until a request is served, and returns what the generator saw by
// then. A pod that is ready gets no requests before the node's proxy knows.
func (r *rig) firstAnswer(ctx context.Context) words.Load {
	GinkgoHelper()
	r.send(ctx, 10)
	Eventually(r.look).WithContext(ctx).Should(HaveField("OK", Not(BeZero())))
	return r.settle(ctx)
}

// send makes the generator send so many requests a second from now on.
func (r *rig) send(ctx context.Context, perSecond int) {
	GinkgoHelper()
	Eventually(get).WithContext(ctx).WithArguments(r.generator, generatorPort, "/rate?rps="+strconv.Itoa(perSecond)).ShouldNot(BeEmpty())
}

// setLatency makes payments take so long on average; "hang" for ever.
func (r *rig) setLatency(ctx context.Context, latency string) {
	GinkgoHelper()
	_, err := get(ctx, r.dependency, paymentsPort, "/latency?d="+url.QueryEscape(latency))
	Expect(err).NotTo(HaveOccurred())
}

// failures are the first failures, one to a line.
func failures(a words.Load) string {
	text := fmt.Sprintf("%d of %d failed:", a.Failed, a.Sent)
	for _, f := range a.Failures {
		text += fmt.Sprintf("\n  at %s after %s, pod %q: %s", f.At.Format(time.StampMilli), f.Took, f.Pod, f.Error)
	}
	return text
}

// look asks the generator what it has seen so far.
func (r *rig) look(ctx context.Context) (a words.Load, err error) {
	text, err := get(ctx, r.generator, generatorPort, "/report")
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal([]byte(text), &a)
}

// seen is look for what must not fail.
func (r *rig) seen(ctx context.Context) words.Load {
	GinkgoHelper()
	a, err := r.look(ctx)
	Expect(err).NotTo(HaveOccurred())
	return a
}

// settle stops the load and returns what the generator saw when nothing is under way.
func (r *rig) settle(ctx context.Context) (a words.Load) {
	GinkgoHelper()
	r.send(ctx, 0)
	Eventually(func(g Gomega, ctx context.Context) {
		var err error
		a, err = r.look(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(a.InFlight).To(BeZero())
	}).WithContext(ctx).Should(Succeed())
	return a
}

// payments asks payments what it saw.
func (r *rig) payments(ctx context.Context) (p words.Payments) {
	GinkgoHelper()
	text, err := get(ctx, r.dependency, paymentsPort, "/stats")
	Expect(err).NotTo(HaveOccurred())
	Expect(json.Unmarshal([]byte(text), &p)).To(Succeed())
	return p
}
