// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package localplane runs a Kubernetes control plane on this machine: real etcd,
// kube-apiserver and kube-controller-manager, with RBAC and the default
// admission plugins, on loopback and free ports, without nodes.
//
//	plane, err := localplane.Start(ctx, localplane.Options{})
//	if err != nil {
//		return err
//	}
//	defer plane.Stop()
//	err = plane.KubectlCommand(ctx, "get", "namespaces").Run()
//
// Everything a plane writes lies in one temporary directory, which Stop removes,
// and any number of planes may run side by side. When the process that started
// a plane is killed, the plane ends by itself, and the next Start removes what
// it left; only binaries that KUBEBUILDER_ASSETS brought from elsewhere do not
// know how to do so.
//
// The start and stop of etcd and kube-apiserver, and their certificates, are
// envtest's (sigs.k8s.io/controller-runtime/pkg/envtest). Pods are accepted and
// stay Pending: there is no scheduler and no kubelet.
package localplane
