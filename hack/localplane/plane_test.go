// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
)

func TestUnprivilegedUserIsRefused(t *testing.T) {
	plane := sharedPlane(t)
	user, err := plane.User("nobody-special", "some-group")
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(user.Config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("list secrets as a user without rights: got %v, want Forbidden", err)
	}
	if _, err := clientOf(t, plane).CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("list secrets as the administrator: %v", err)
	}
}

func TestUsersAreWhoTheirKubeconfigSays(t *testing.T) {
	plane := sharedPlane(t)
	user, err := plane.User("carol:of/sales", "sales")
	if err != nil {
		t.Fatal(err)
	}
	account, err := plane.ServiceAccountKubeconfig(t.Context(), "default", "default")
	if err != nil {
		t.Fatal(err)
	}
	for want, kubeconfig := range map[string]string{
		"admin":                                 plane.KubeconfigFile,
		"carol:of/sales":                        user.KubeconfigFile,
		"system:serviceaccount:default:default": account,
	} {
		if got := kubectl(t, plane, kubeconfig, "auth", "whoami", "-o=jsonpath={.status.userInfo.username}"); got != want {
			t.Errorf("%s is %q, want %q", kubeconfig, got, want)
		}
	}
}

func TestServiceAccountMustExist(t *testing.T) {
	if file, err := sharedPlane(t).ServiceAccountKubeconfig(t.Context(), "default", "missing"); !apierrors.IsNotFound(err) {
		t.Errorf("got %q, %v; want NotFound", file, err)
	}
}

func TestNamespaceGetsWhatPodsNeed(t *testing.T) {
	plane := sharedPlane(t)
	core := clientOf(t, plane).CoreV1()
	namespace := newNamespace(t, plane)
	eventually(t, "default ServiceAccount", func(ctx context.Context) bool {
		_, err := core.ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	})
	eventually(t, "the API server's certificate authority", func(ctx context.Context) bool {
		configMap, err := core.ConfigMaps(namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err == nil && configMap.Data["ca.crt"] == string(plane.Config.CAData)
	})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pending"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.com/none"}}},
	}
	made, err := core.Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if made.Spec.ServiceAccountName != "default" || len(made.Spec.Volumes) == 0 {
		t.Errorf("account %q, %d volumes: the ServiceAccount admission plugin is off", made.Spec.ServiceAccountName, len(made.Spec.Volumes))
	}
}

func TestNamespaceDeletionCompletes(t *testing.T) {
	plane := sharedPlane(t)
	core := clientOf(t, plane).CoreV1()
	namespace := newNamespace(t, plane)
	content := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "content"}}
	if _, err := core.ConfigMaps(namespace).Create(t.Context(), content, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := core.Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "namespace is gone", func(ctx context.Context) bool {
		_, err := core.Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func TestDependentsAreGarbageCollected(t *testing.T) {
	plane := sharedPlane(t)
	configMaps := clientOf(t, plane).CoreV1().ConfigMaps(newNamespace(t, plane))
	owner, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	dependent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "dependent", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
	}}}
	if _, err := configMaps.Create(t.Context(), dependent, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := configMaps.Delete(t.Context(), owner.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "dependent is gone", func(ctx context.Context) bool {
		_, err := configMaps.Get(ctx, dependent.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func TestVersionIsTheReleasedOne(t *testing.T) {
	plane := sharedPlane(t)
	var versions struct {
		ClientVersion, ServerVersion version.Info
	}
	text := kubectl(t, plane, plane.KubeconfigFile, "version", "-o=json")
	if err := json.Unmarshal([]byte(text), &versions); err != nil {
		t.Fatal(err)
	}
	server := versions.ServerVersion
	if server.GitVersion != versions.ClientVersion.GitVersion || !strings.HasPrefix(server.GitVersion, "v"+server.Major+"."+server.Minor+".") {
		t.Errorf("server %q (%q.%q), client %q", server.GitVersion, server.Major, server.Minor, versions.ClientVersion.GitVersion)
	}
}

func newNamespace(t *testing.T, plane *Plane) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	made, err := clientOf(t, plane).CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Name
}

// kubectl runs kubectl and returns what it says on standard output.
func kubectl(t *testing.T, plane *Plane, kubeconfig string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), plane.Kubectl(), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}
