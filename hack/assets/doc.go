// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package assets finds the directory that holds the binaries of the local
// control plane, and builds them when they are nowhere to be found:
//
//	dir, err := assets.Dir(ctx, os.Stderr)
//	if err != nil {
//		return err
//	}
//	kubectl := filepath.Join(dir, "kubectl")
//
// KUBEBUILDER_ASSETS wins if it is set; then comes the user's cache directory,
// under a name made of the versions and of everything else that the build
// depends on; then the build of hack/kubernetes, about eleven minutes on two
// cores when Go's build cache is empty. Processes that want the same build
// wait for the one that makes it.
//
// It downloads no binaries: what it needs comes from Go modules. It does not
// clear old builds away.
package assets
