// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cluster runs a local Kubernetes control plane (package localplane) for as
// long as it is wanted. Run it from anywhere inside the repository:
//
//	go run ./hack/cluster                            # until Ctrl-C; prints how to use it
//	go run ./hack/cluster -- kubectl get namespaces  # for one command, with KUBECONFIG and PATH set
//	go run ./hack/cluster assets                     # only build the binaries, and print their directory
//
// With a command, the exit code is the command's (go run itself reports every
// failure as 1).
//
// It has no nodes: pods are accepted and stay Pending.
package main
