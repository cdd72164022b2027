// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki makes the certificates of a node, anew at each start: an authority,
// the serving certificates of the API server and the kubelet, the client
// certificates of the components with a kubeconfig each, and the key that signs
// ServiceAccounts' tokens.
//
//	err := pki.Write(layout.Layout{Root: root})
//
// The certificates are good for a year, which is longer than a node lives, and
// nothing renews them.
package pki
