// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// rights are the operator's: what it may do everywhere, and in its own namespace.
type rights struct{ cluster, own []rbacv1.PolicyRule }

// The files with the operator's rights: what it always has, generated; and what the
// nudge takes beside that.
const (
	roleFile      = "../config/rbac/role.yaml"
	nudgeRoleFile = "../config/nudge/role.yaml"
)

// readRights reads what some files give together.
func readRights(files ...string) (r rights, err error) {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return rights{}, err
		}
		more, err := parseRights(string(text))
		if err != nil {
			return rights{}, fmt.Errorf("%s: %w", file, err)
		}
		r = rights{cluster: append(r.cluster, more.cluster...), own: append(r.own, more.own...)}
	}
	return r, nil
}

func parseRights(manifests string) (r rights, err error) {
	for part := range strings.SplitSeq(manifests, "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(part), &role); err != nil {
			return rights{}, err
		}
		switch role.Kind {
		case "ClusterRole":
			r.cluster = append(r.cluster, role.Rules...)
		case "Role":
			r.own = append(r.own, role.Rules...)
		}
	}
	return r, nil
}

// verb is one thing that the operator may do.
type verb struct{ scope, group, resource, verb string }

func (v verb) String() string {
	return fmt.Sprintf("%s %s.%s (%s)", v.verb, v.resource, v.group, v.scope)
}

// verbs lists everything.
func (r rights) verbs() (all []verb) {
	for scope, rules := range map[string][]rbacv1.PolicyRule{"cluster": r.cluster, "own namespace": r.own} {
		for _, rule := range rules {
			for _, resource := range rule.Resources {
				for _, name := range rule.Verbs {
					all = append(all, verb{scope, rule.APIGroups[0], resource, name})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b verb) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// without is everything but one.
func (r rights) without(gone verb) rights {
	drop := func(scope string, rules []rbacv1.PolicyRule) (kept []rbacv1.PolicyRule) {
		for _, rule := range rules {
			if scope == gone.scope && rule.APIGroups[0] == gone.group && slices.Contains(rule.Resources, gone.resource) {
				rule.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return v == gone.verb })
			}
			if len(rule.Verbs) > 0 {
				kept = append(kept, rule)
			}
		}
		return kept
	}
	return rights{cluster: drop("cluster", r.cluster), own: drop("own namespace", r.own)}
}

// grant makes a ServiceAccount with these rights, whose own namespace is the given
// one, and returns its kubeconfig.
func (r rights) grant(ctx context.Context, namespace string) (kubeconfig string) {
	GinkgoHelper()
	const account = "operator"
	name := metav1.ObjectMeta{Name: namespace + "-operator"}
	own := metav1.ObjectMeta{Name: "operator", Namespace: namespace}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: own},
		&rbacv1.ClusterRole{ObjectMeta: name, Rules: r.cluster},
		&rbacv1.ClusterRoleBinding{ObjectMeta: name, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name}},
		&rbacv1.Role{ObjectMeta: own, Rules: r.own},
		&rbacv1.RoleBinding{ObjectMeta: own, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: own.Name}},
	} {
		Expect(admin.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(admin.Delete(ctx, object)) })
	}
	kubeconfig, err := plane.ServiceAccountKubeconfig(ctx, namespace, account)
	Expect(err).NotTo(HaveOccurred())
	return kubeconfig
}

// give has an account that grant made have these rights instead.
func (r rights) give(ctx context.Context, namespace string) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: namespace + "-operator"}}
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(role), role)).To(Succeed())
	before := role.DeepCopy()
	role.Rules = r.cluster
	Expect(admin.Patch(ctx, role, client.MergeFrom(before))).To(Succeed())
}

// duty makes an operator do everything that it ever does.
type duty struct {
	namespace string
	operator  *process
	url       string
	token     string // of somebody who may read the metrics
	payments  *v1alpha1.ServiceBulkhead
	limit     int32
}

func newDuty(ctx context.Context, r rights, flags ...string) *duty {
	GinkgoHelper()
	namespace := newNamespace(ctx)
	running(ctx, namespace, "one") // who is to be nudged, if anybody is
	d := &duty{namespace: namespace, token: tokenOf(ctx, namespace, "prometheus")}
	allowMetrics(ctx, namespace, "prometheus")
	address := freeAddress()
	d.url = "https://" + address + "/metrics"
	d.operator = startProcess(namespace, append([]string{"--kubeconfig=" + r.grant(ctx, namespace), "--leader-elect=true",
		"--leader-election-namespace=" + namespace, "--metrics-secure=true", "--metrics-bind-address=" + address}, flags...)...)
	d.payments = create(ctx, namespace, "payments")
	return d
}

// call gives it something to do: a change, an edit by hand, somebody who asks for the
// metrics.
func (d *duty) call(ctx context.Context) {
	GinkgoHelper()
	d.limit = (d.limit + 1) % 1000
	update(ctx, d.payments, limit(d.limit))
	if object, err := look(ctx, mapOf(d.namespace))(); err == nil {
		edit(ctx, object, func(object *corev1.ConfigMap) { object.Labels = nil })
	}
	if request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, http.NoBody); err == nil {
		request.Header.Set("Authorization", "Bearer "+d.token)
		if response, err := scraper(nil).Do(request); err == nil {
			Expect(response.Body.Close()).To(Succeed())
		}
	}
}

// deniedPattern is what the API server says to whom RBAC does not let.
var deniedPattern = regexp.MustCompile(`cannot (\w+) resource \\"([\w/]+)\\" in API group \\"([\w.]*)\\"`)

// denied lists what the operator complains that it may not do.
func (d *duty) denied() (found []string) {
	for _, match := range deniedPattern.FindAllStringSubmatch(string(d.operator.Err.Contents()), -1) {
		if what := fmt.Sprintf("%s %s.%s", match[1], match[2], match[3]); !slices.Contains(found, what) {
			found = append(found, what)
		}
	}
	return found
}

// failsWithout says that an operator misses one of its rights. What it does with the
// others is for the caller to look at.
func failsWithout(ctx context.Context, all rights, gone verb, flags ...string) *duty {
	GinkgoHelper()
	if gone.verb == "list" {
		// As on API servers of before Kubernetes 1.32, which cannot begin a watch with a list.
		GinkgoT().Setenv("KUBE_FEATURE_WatchListClient", "false")
	}
	d := newDuty(ctx, all.without(gone), flags...)
	Eventually(func() []string {
		d.call(ctx)
		return d.denied()
	}).Should(ContainElement(fmt.Sprintf("%s %s.%s", gone.verb, gone.resource, gone.group)))
	return d
}

var _ = Describe("The operator's rights", func() {
	all, err := readRights(roleFile)

	It("are enough", func(ctx context.Context) {
		Expect(err).NotTo(HaveOccurred())
		Expect(len(all.verbs())).To(BeNumerically(">", 10))
		d := newDuty(ctx, all)
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: LeaderElectionID}}
		Eventually(look(ctx, lease)).Should(HaveField("Spec.HolderIdentity", HaveValue(Not(BeEmpty()))))
		Eventually(state(ctx, d.payments)).Should(bePublished())
		Eventually(status(scrape(ctx, scraper(nil), d.url, d.token))).Should(Equal(http.StatusOK))
		for range 3 {
			d.call(ctx)
			Eventually(state(ctx, d.payments)).Should(bePublished())
		}
		Eventually(eventsOf(ctx, d.payments)).Should(HaveLen(1))
		object := mapOf(d.namespace)
		edit(ctx, object, func(object *corev1.ConfigMap) { object.Labels = nil })
		Eventually(eventsOf(ctx, object)).ShouldNot(BeEmpty())
		Expect(d.denied()).To(BeEmpty())
	})

	for _, gone := range all.verbs() {
		It("are needed: without "+gone.String()+" something fails", func(ctx context.Context) {
			failsWithout(ctx, all, gone)
		})
	}
})

var _ = Describe("The nudge's rights", func() {
	all, err := readRights(roleFile, nudgeRoleFile)
	own, errOwn := readRights(nudgeRoleFile)

	It("are enough", func(ctx context.Context) {
		Expect(errors.Join(err, errOwn)).NotTo(HaveOccurred())
		Expect(own.verbs()).To(HaveLen(3))
		d := newDuty(ctx, all, "--nudge")
		stuck := running(ctx, d.namespace, "stuck", bySubPath)
		Eventually(state(ctx, d.payments)).Should(bePublished())
		Eventually(told(ctx, pod(d.namespace, "one"))).Should(Equal(revision(ctx, d.namespace)))
		Eventually(eventsOf(ctx, stuck)).Should(HaveLen(1))
		Expect(d.denied()).To(BeEmpty())
	})

	for _, gone := range own.verbs() {
		It("are needed: without "+gone.String()+" something fails, but nothing is left unpublished; given it, the operator goes on", func(ctx context.Context) {
			d := failsWithout(ctx, all, gone, "--nudge")
			Eventually(state(ctx, d.payments)).Should(bePublished())
			if gone.verb != "watch" { // without that, those are known that were there at the start
				Consistently(told(ctx, pod(d.namespace, "one"))).Should(BeEmpty())
			}
			all.give(ctx, d.namespace)
			d.call(ctx)
			Eventually(func(g Gomega) {
				g.Expect(told(ctx, pod(d.namespace, "one"))(g)).To(Equal(revision(ctx, d.namespace)))
			}).WithTimeout(3*defaultTimeout).Should(Succeed(), "it needs no restart when it is given the right")
		})
	}
})
