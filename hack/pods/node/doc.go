// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command node runs a Kubernetes node with its control plane on this machine: real
// etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubelet and
// kube-proxy, with containerd and runc.
//
//	node check                        what is missing here, if anything
//	node up                           start it, and return when pods can run
//	node load dist/images/*.tar       make images known to it
//	node run -- kubectl get pods -A   run a command inside it
//	node down                         end it, and remove it without a trace
//
// A node has network, mount, pid, uts and ipc namespaces of its own. Its first
// process, whose id is in run/node.pid below its directory, is the parent of all
// others: when it ends, so does everything inside. It starts again what ends by
// itself, a kubelet that was killed for example at once.
//
// run joins all of these namespaces: the command sees the node's processes under
// the ids they have there, /proc of them alone, Services and pods by their
// addresses, and files as outside but for /run, /var/lib and /var/log. It finds
// kubectl and ctr in PATH, the way to the API server in KUBECONFIG, and the node's
// directory in SERVICEBULKHEAD_NODE.
//
// There is no way out of the node's network, no image registry, and no DNS for
// Services: pods use their addresses, or the environment. State goes to the
// directory servicebulkhead/node of the user's cache, or to that of -root; nodes
// with different directories may run side by side. The programs lie beside it and
// stay. It needs Linux and root; what else it needs, check says.
package main
