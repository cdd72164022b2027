// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machine says whether a node can run on this machine, and if not, what
// precisely is missing:
//
//	facts := machine.Look(ctx, stateDir, prober)
//	for _, line := range machine.Missing(facts) {
//		fmt.Println(line)
//	}
//
// What rights and kernels allow is tried, in namespaces that are gone afterwards,
// rather than guessed from versions and capabilities. It changes nothing.
package machine
