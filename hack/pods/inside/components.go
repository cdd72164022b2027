// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import "github.com/servicebulkhead/servicebulkhead/hack/pods/layout"

// component is a program that is to run as long as the node does. Its output is
// in the log of its name.
type component struct {
	name string
	args []string
}

const etcdURL = "http://127.0.0.1:2379"

// foundation are the components that need no other one.
func foundation(node layout.Layout) []component {
	return []component{etcd(node), apiServer(node), {"containerd", []string{"--config", node.Etc("containerd.toml")}}}
}

// superstructure are those that need the API server, and the kubelet containerd.
func superstructure(node layout.Layout) []component {
	return []component{controllerManager(node), scheduler(node), kubelet(node), proxy(node)}
}

// etcd does not wait for the disk: its data does not outlive the node.
func etcd(node layout.Layout) component {
	const peerURL = "http://127.0.0.1:2380"
	return component{"etcd", []string{
		"--data-dir=" + node.Var("etcd"), "--unsafe-no-fsync",
		"--listen-client-urls=" + etcdURL, "--advertise-client-urls=" + etcdURL,
		"--listen-peer-urls=" + peerURL, "--initial-advertise-peer-urls=" + peerURL, "--initial-cluster=default=" + peerURL,
	}}
}

func apiServer(node layout.Layout) component {
	const kubeletClient = "apiserver-kubelet-client"
	return component{"kube-apiserver", []string{
		"--bind-address=0.0.0.0", "--secure-port=6443", "--advertise-address=" + layout.NodeIP,
		"--etcd-servers=" + etcdURL,
		"--tls-cert-file=" + node.Cert("kube-apiserver"), "--tls-private-key-file=" + node.Key("kube-apiserver"),
		"--client-ca-file=" + node.Cert("ca"),
		"--kubelet-client-certificate=" + node.Cert(kubeletClient), "--kubelet-client-key=" + node.Key(kubeletClient),
		"--kubelet-certificate-authority=" + node.Cert("ca"),
		"--kubelet-preferred-address-types=InternalIP", // names lead nowhere here
		"--service-cluster-ip-range=" + layout.ServiceCIDR,
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		"--service-account-issuer=https://kubernetes.default.svc." + layout.ClusterDomain,
		"--service-account-key-file=" + node.Key("service-accounts"),
		"--service-account-signing-key-file=" + node.Key("service-accounts"),
	}}
}

func controllerManager(node layout.Layout) component {
	return component{"kube-controller-manager", []string{
		"--kubeconfig=" + node.Kubeconfig("kube-controller-manager"), "--bind-address=127.0.0.1", "--leader-elect=false",
		"--use-service-account-credentials",
		// It asks for a token for each of its controllers before the first one
		// starts: five seconds with the default of 20 requests a second.
		"--kube-api-qps=500", "--kube-api-burst=1000",
		"--root-ca-file=" + node.Cert("ca"), "--service-account-private-key-file=" + node.Key("service-accounts"),
		"--cluster-signing-cert-file=" + node.Cert("ca"), "--cluster-signing-key-file=" + node.Key("ca"),
		"--flex-volume-plugin-dir=" + node.Var("volume-plugins"), // else it is made below /usr/libexec
	}}
}

func scheduler(node layout.Layout) component {
	return component{"kube-scheduler", []string{
		"--kubeconfig=" + node.Kubeconfig("kube-scheduler"), "--bind-address=127.0.0.1", "--leader-elect=false",
	}}
}

func kubelet(node layout.Layout) component {
	return component{"kubelet", []string{
		"--config=" + node.Etc("kubelet.yaml"), "--kubeconfig=" + node.Kubeconfig("kubelet"),
		"--root-dir=" + node.Var("kubelet"), "--cert-dir=" + node.Var("kubelet-pki"),
		"--hostname-override=" + layout.NodeName, "--node-ip=" + layout.NodeIP, "--v=2",
	}}
}

func proxy(node layout.Layout) component {
	return component{"kube-proxy", []string{"--config=" + node.Etc("kube-proxy.yaml")}}
}
