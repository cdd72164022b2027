// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// judgeTogether adds what only the whole input shows.
func judgeTogether(subjects []*subject) {
	refuseTwins(subjects)
	set := make([]*v1alpha1.ServiceBulkhead, len(subjects)) // nil where it could not be read
	for i, s := range subjects {
		set[i] = s.bulkhead
	}
	found := v1alpha1.ValidateSet(set)
	owners := ownersOf(subjects, found)
	for i, errs := range found {
		for _, err := range errs {
			if owner := owners[claimOf(set[i])]; owner != nil && err.Type == field.ErrorTypeDuplicate {
				err.Detail += "; the other is at " + owner.place()
			}
			subjects[i].refuse(err)
		}
	}
}

// claim is what only one object can have.
type claim struct{ namespace, configMap, service string }

func claimOf(b *v1alpha1.ServiceBulkhead) claim {
	return claim{b.Namespace, b.ConfigMapName(), b.Service()}
}

// ownersOf says whose the services are: of the first that is not refused.
func ownersOf(subjects []*subject, found []field.ErrorList) map[claim]*subject {
	owners := map[claim]*subject{}
	for i, s := range subjects {
		if s.bulkhead == nil || len(found[i]) > 0 {
			continue
		}
		if of := claimOf(s.bulkhead); owners[of] == nil {
			owners[of] = s
		}
	}
	return owners
}

// refuseTwins refuses objects that have the name of an earlier one: an API server
// would take them for a change of it.
func refuseTwins(subjects []*subject) {
	first := map[types.NamespacedName]*subject{}
	for _, s := range subjects {
		name := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
		other := first[name]
		switch {
		case s.Name == "":
		case other == nil:
			first[name] = s
		default:
			s.refuse(&field.Error{
				Type: field.ErrorTypeDuplicate, Field: "metadata.name", BadValue: s.Name,
				Detail: "the other is at " + other.place() + ", and whichever is applied last overwrites it",
			})
		}
	}
}
