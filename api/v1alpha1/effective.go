// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "cmp"

// Service returns the name by which the application asks for the bulkhead:
// spec.service, or metadata.name where that is absent.
func (b *ServiceBulkhead) Service() string {
	return cmp.Or(b.Spec.Service, b.Name)
}

// ConfigMapName returns the name of the ConfigMap, in the bulkhead's namespace,
// that carries it. It knows the schema's default, for objects that no API server
// has seen.
func (b *ServiceBulkhead) ConfigMapName() string {
	return cmp.Or(b.Spec.ConfigMapName, DefaultConfigMapName)
}
