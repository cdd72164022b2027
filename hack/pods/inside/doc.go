// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inside is the first process of a node, in the namespaces that the
// command node gives it: it sets the namespaces up, starts the components of the
// cluster in their order, restarts the one that ends, and reaps orphans.
//
//	if err := inside.Boot(ctx, node, report); err != nil {
//		return err // the caller exits, and with it everything inside ends
//	}
//	select {} // it restarts what ends, until this process is killed
//
// All that it changes ends with the namespaces, but for files below the node's
// directory and pods' cgroups. It has no way to stop components in order: a node
// ends when its first process is killed.
package inside
