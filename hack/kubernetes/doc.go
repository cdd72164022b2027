// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kube is every Kubernetes program that the tests and the demo start,
// in one binary: etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler, kubelet, kube-proxy and kubectl, each as released, and
// project, which keeps a directory equal to a ConfigMap the way a kubelet does.
//
// The program is chosen by the name the binary is called by, or else by the
// first argument:
//
//	ln -s kube kubectl
//	./kubectl version
//	./kube etcd --data-dir=/tmp/etcd
//	./kube project --dir=/tmp/volume --kubeconfig=admin.kubeconfig --namespace=shop --name=service-bulkheads
//
// Package assets builds it, with the flags that give it its version, and names
// its links; nobody needs to build it by hand.
//
// It is no distribution of Kubernetes: the programs share one process image,
// one set of flags for logging and metrics, and no test outside this
// repository.
package main
