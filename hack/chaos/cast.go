// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// How many there are: namespaces, ConfigMaps in each, and services in each of these.
const (
	namespaceCount = 3
	mapCount       = 3
	serviceCount   = 6
)

// contested is the one ConfigMap of each namespace in which two bulkheads may claim a
// service.
const contested = 0

// keptMap is the ConfigMap of the bulkhead that becomes invalid, and keptService is its
// service. Nobody edits it: what was last accepted stands nowhere else.
const (
	keptMap     = "kept-bulkheads"
	keptService = "kept"
	keptLimit   = 7
)

// role is a bulkhead that comes and goes.
type role struct {
	namespace, configMap, name, service string
	// anchor is never deleted.
	anchor bool
}

func namespaceOf(n int) string { return fmt.Sprintf("chaos-%d", n) }
func mapOf(n int) string       { return fmt.Sprintf("m%d-bulkheads", n) }

// newRole is the bulkhead of a service, or the rival of that.
func newRole(namespace, configMap, service int, rival bool) role {
	r := role{
		namespace: namespaceOf(namespace), configMap: mapOf(configMap),
		service: fmt.Sprintf("m%d-s%d", configMap, service), anchor: service == 0 && !rival,
	}
	r.name = r.service
	if rival {
		r.name = "a-rival-of-" + r.service // by its name it would win
	}
	return r
}

func (r role) mapKey() types.NamespacedName {
	return types.NamespacedName{Namespace: r.namespace, Name: r.configMap}
}

// windowOf ties a bulkhead's reclaimAfter to its limit, so that an entry put together
// from two versions shows.
func windowOf(limit int) time.Duration { return time.Second + time.Duration(limit)*time.Millisecond }

func (r role) bulkhead(limit int) *v1alpha1.ServiceBulkhead {
	n := int32(limit)
	return &v1alpha1.ServiceBulkhead{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: r.name},
		Spec: v1alpha1.ServiceBulkheadSpec{
			Service: r.service, ConfigMapName: r.configMap, Limit: &n,
			ReclaimAfter: v1alpha1.Duration(bulkheadconfig.FormatDuration(windowOf(limit))),
		},
	}
}
