// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// ValidateSet returns what only the whole set shows, in the operator's words: two
// bulkheads for one service in one ConfigMap, and what one document has no room
// for. The lists are parallel to the set; what is wrong with an object by itself
// is left to Validate. The set stands for all there is: documents are empty
// before.
//
// Objects without a namespace share one, which is no other object's. Of several
// with one namespace and name only the first is judged, and nil is passed over.
func ValidateSet(set []*ServiceBulkhead) []field.ErrorList {
	judged := distinct(set)
	faults := map[*ServiceBulkhead]*field.Error{}
	for _, claims := range claimsByDocument(judged) {
		for _, v := range settle(claims, nil, bulkheadconfig.MaxBytes) {
			faults[v.Bulkhead] = v.fault()
		}
	}
	errs := make([]field.ErrorList, len(set))
	for i, b := range judged {
		if fault := faults[b]; fault != nil {
			errs[i] = field.ErrorList{fault}
		}
	}
	return errs
}

// distinct returns the objects that are judged, each at its place. One whose name
// is yet to be generated goes by what the name will begin with.
func distinct(set []*ServiceBulkhead) []*ServiceBulkhead {
	judged := make([]*ServiceBulkhead, len(set))
	seen := map[types.NamespacedName]bool{}
	for i, b := range set {
		switch {
		case b == nil || b.Service() == "":
		case b.Name == "":
			judged[i] = b.DeepCopy()
			judged[i].Name = b.GenerateName
		case !seen[types.NamespacedName{Namespace: b.Namespace, Name: b.Name}]:
			judged[i] = b
			seen[types.NamespacedName{Namespace: b.Namespace, Name: b.Name}] = true
		}
	}
	return judged
}

// claimsByDocument groups the objects by namespace and ConfigMap.
func claimsByDocument(set []*ServiceBulkhead) map[types.NamespacedName][]claim {
	documents := map[types.NamespacedName][]claim{}
	for _, b := range set {
		if b != nil {
			document := types.NamespacedName{Namespace: b.Namespace, Name: b.ConfigMapName()}
			documents[document] = append(documents[document], newClaim(b, nil))
		}
	}
	return documents
}

// fault names the field to change, or is nil.
func (v Verdict) fault() *field.Error {
	spec := field.NewPath("spec")
	switch v.Reason {
	case ReasonServiceConflict:
		err := field.Duplicate(spec.Child("service"), v.Bulkhead.Service())
		err.Detail = v.Message
		return err
	case ReasonDocumentFull:
		return field.Invalid(spec.Child("configMapName"), v.Bulkhead.ConfigMapName(), v.Message)
	}
	return nil
}
