// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// tokenSeconds is how long a ServiceAccount's token is good for: a day, which is
// longer than any plane lives.
const tokenSeconds = 24 * 60 * 60

// User is somebody whom the API server knows. What they may do is RBAC's to say.
type User struct {
	// Config is for clients in this process.
	Config *rest.Config
	// KubeconfigFile is the path of the kubeconfig, for other processes; Stop
	// removes it.
	KubeconfigFile string
}

// User makes a user with a client certificate that names the groups. A new name
// has no rights but everybody's; the group system:masters has all.
func (p *Plane) User(name string, groups ...string) (User, error) {
	return p.addUser(name, groups, nil)
}

func (p *Plane) addUser(name string, groups []string, base *rest.Config) (User, error) {
	p.users.Lock() // envtest's certificate authority counts its certificates without a lock
	defer p.users.Unlock()
	added, err := p.server.AddUser(envtest.User{Name: name, Groups: groups}, base)
	if err != nil {
		return User{}, fmt.Errorf("user %s: %w", name, err)
	}
	kubeconfig, err := added.KubeConfig()
	if err != nil {
		return User{}, fmt.Errorf("user %s: %w", name, err)
	}
	file, err := p.root.writeKubeconfig(name, kubeconfig)
	return User{Config: added.Config(), KubeconfigFile: file}, err
}

// ServiceAccountKubeconfig returns the path of a kubeconfig with a token of the
// ServiceAccount, which must exist; the token is good for a day and Stop removes
// the file.
func (p *Plane) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	client, err := kubernetes.NewForConfig(p.Config)
	if err != nil {
		return "", fmt.Errorf("client: %w", err)
	}
	seconds := int64(tokenSeconds)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token of ServiceAccount %s/%s: %w", namespace, name, err)
	}
	kubeconfig, err := withToken(p.KubeconfigFile, answer.Status.Token)
	if err != nil {
		return "", fmt.Errorf("kubeconfig of ServiceAccount %s/%s: %w", namespace, name, err)
	}
	return p.root.writeKubeconfig(namespace+"-"+name, kubeconfig)
}

// withToken returns the kubeconfig with the token in the place of every user's
// credentials.
func withToken(kubeconfigFile, token string) ([]byte, error) {
	config, err := clientcmd.LoadFromFile(kubeconfigFile)
	if err != nil {
		return nil, err
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &api.AuthInfo{Token: token}
	}
	return clientcmd.Write(*config)
}
