// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

const (
	operatorNamespace = "servicebulkhead-system"
	operatorAccount   = "servicebulkhead-operator"
	operatorUser      = "system:serviceaccount:" + operatorNamespace + ":" + operatorAccount
)

// account is somebody who asks the API server for something.
type account struct {
	config  *rest.Config
	kube    kubernetes.Interface
	dynamic dynamic.Interface
}

func newAccount(config *rest.Config) account {
	GinkgoHelper()
	config.QPS = -1 // the API server is ours alone
	if config.WarningHandler == nil {
		config.WarningHandler = rest.NoWarnings{}
	}
	kube, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	client, err := dynamic.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	return account{config: config, kube: kube, dynamic: client}
}

// newOperator is the operator's ServiceAccount, by a token of its own. In the
// namespace it has every right to what the guards speak about: what is refused
// there is refused by them and not for a missing right.
func newOperator(ctx context.Context, namespace string) account {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "too-much"}
	_, err := people.kube.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", v1alpha1.GroupVersion.Group}, Resources: []string{"*"}, Verbs: []string{"*"}},
	}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	_, err = people.kube.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: operatorNamespace, Name: operatorAccount}},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return newAccount(operatorConfig(ctx))
}

func operatorConfig(ctx context.Context) *rest.Config {
	GinkgoHelper()
	file, err := plane.ServiceAccountKubeconfig(ctx, operatorNamespace, operatorAccount)
	Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.BuildConfigFromFlags("", file)
	Expect(err).NotTo(HaveOccurred())
	return config
}

// makeNamespace returns when pods can be created in the namespace: they need its
// ServiceAccount. DeferCleanup deletes it.
func makeNamespace(ctx context.Context, name string) {
	GinkgoHelper()
	namespaces := people.kube.CoreV1().Namespaces()
	_, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) error { return namespaces.Delete(ctx, name, metav1.DeleteOptions{}) })
	Eventually(func(ctx context.Context) error {
		_, err := people.kube.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err
	}).WithContext(ctx).Should(Succeed())
}

func (a account) bulkheads(namespace string) dynamic.ResourceInterface {
	return a.dynamic.Resource(v1alpha1.GroupVersion.WithResource("servicebulkheads")).Namespace(namespace)
}
