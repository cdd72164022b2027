// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// epoch is when the fixtures were created, give or take.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const roomy = bulkheadconfig.MaxBytes

// option changes a fixture.
type option func(*ServiceBulkhead)

// bulkhead is a valid one: limit 25, reclaimed after 30 s.
func bulkhead(name string, options ...option) ServiceBulkhead {
	b := ServiceBulkhead{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, CreationTimestamp: metav1.NewTime(epoch)},
		Spec:       ServiceBulkheadSpec{Limit: new(int32(25)), ReclaimAfter: "30s"},
	}
	for _, option := range options {
		option(&b)
	}
	return b
}

func service(name string) option {
	return func(b *ServiceBulkhead) { b.Spec.Service = name }
}

func limit(n int32) option {
	return func(b *ServiceBulkhead) { b.Spec.Limit = &n }
}

// in puts a bulkhead into another namespace.
func in(namespace string) option {
	return func(b *ServiceBulkhead) { b.Namespace = namespace }
}

func through(configMap string) option {
	return func(b *ServiceBulkhead) { b.Spec.ConfigMapName = configMap }
}

// invalid breaks a rule that admission enforces today.
func invalid(b *ServiceBulkhead) { b.Spec.MaxWait = "2h" }

func queued(b *ServiceBulkhead) { b.Spec.Queue = &Queue{Capacity: 65536} }

// younger makes a bulkhead that was created so much after epoch.
func younger(d time.Duration) option {
	return func(b *ServiceBulkhead) { b.CreationTimestamp = metav1.NewTime(epoch.Add(d)) }
}

func deleting(b *ServiceBulkhead) { b.DeletionTimestamp = new(metav1.NewTime(epoch)) }

// published gives a bulkhead the status of one that the document holds.
func published(b *ServiceBulkhead) { publishedAs(entry(25))(b) }

// publishedAs does so for one whose entry was this.
func publishedAs(s bulkheadconfig.Service) option {
	return func(b *ServiceBulkhead) {
		b.Status.ConfigMapRef = &ConfigMapRef{Name: b.ConfigMapName(), Revision: s.Revision()}
	}
}

// entry is what a document holds for a bulkhead of the fixtures.
func entry(n int) bulkheadconfig.Service {
	return bulkheadconfig.Service{
		Limit: n, ReclaimAfter: 30 * time.Second,
		OnReclaim: bulkheadconfig.Cancel, Enforcement: bulkheadconfig.Enforce,
	}
}

func mustEncode(t testing.TB, all services) string {
	t.Helper()
	text, err := bulkheadconfig.Encode(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
