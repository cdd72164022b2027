// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
)

// The addresses of a node. They mean something only inside its network
// namespace, so that nodes side by side have the same ones.
const (
	NodeName      = "node"
	NodeIP        = "10.77.0.1"
	NodeCIDR      = NodeIP + "/24"
	Gateway       = "10.77.0.254" // nobody: what goes there goes nowhere
	PodCIDR       = "10.88.0.0/24"
	ServiceCIDR   = "10.96.0.0/24"
	KubernetesIP  = "10.96.0.1"
	ClusterDNS    = NodeIP // where no name server listens: looking a name up fails at once
	ClusterDomain = "cluster.local"
)

// PauseImage is the image of the process that holds a pod's namespaces.
const PauseImage = "docker.io/library/servicebulkhead-pause:latest"

// Socket is containerd's own default. It lies in the /run that the node has to itself.
const Socket = "/run/containerd/containerd.sock"

// Layout is where the files of one node are.
type Layout struct{ Root string }

// PIDFile holds the process id, as the machine knows it, of the node's pid 1.
func (l Layout) PIDFile() string { return l.path("run", "node.pid") }

// LockFile is locked as long as the node lives. It lies beside the directory and
// stays: removing it would let two nodes lock two files of one name.
func (l Layout) LockFile() string { return filepath.Clean(l.Root) + ".lock" }

// PartsFile lists the programs that the node was started with.
func (l Layout) PartsFile() string { return l.path("etc", "parts.json") }

// Bin is a directory, made to stand in PATH, with all programs of the node.
func (l Layout) Bin() string { return l.path("bin") }

// Etc returns the path of a component's configuration.
func (l Layout) Etc(name string) string { return l.path("etc", name) }

// Run returns the path of something that means nothing after the node's end.
func (l Layout) Run(name string) string { return l.path("run", name) }

// Var returns the path of a component's data.
func (l Layout) Var(name string) string { return l.path("var", name) }

// Logs is the directory of the components' logs.
func (l Layout) Logs() string { return l.path("log") }

// Log returns the path of a component's log.
func (l Layout) Log(component string) string { return l.path("log", component+".log") }

// PKI is the directory of keys, certificates and kubeconfigs.
func (l Layout) PKI() string { return l.path("pki") }

// Cert returns the path of a certificate.
func (l Layout) Cert(name string) string { return l.path("pki", name+".crt") }

// Key returns the path of a private key.
func (l Layout) Key(name string) string { return l.path("pki", name+".key") }

// Kubeconfig returns the path of a user's kubeconfig.
func (l Layout) Kubeconfig(user string) string { return l.path("pki", user+".kubeconfig") }

// APIServer is the API server's URL inside the node.
func (Layout) APIServer() string { return "https://" + NodeIP + ":6443" }

// Cgroup names the cgroup, in every hierarchy, below which the pods of this node
// are. Nodes in other directories have other ones.
func (l Layout) Cgroup() string {
	sum := sha256.Sum256([]byte(filepath.Clean(l.Root)))
	return "servicebulkhead-node-" + hex.EncodeToString(sum[:4])
}

func (l Layout) path(elements ...string) string {
	return filepath.Join(append([]string{l.Root}, elements...)...)
}
