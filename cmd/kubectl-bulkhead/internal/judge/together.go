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
	for i, errs := range v1alpha1.ValidateSet(set) {
		for _, err := range errs {
			subjects[i].refuse(err)
		}
	}
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
