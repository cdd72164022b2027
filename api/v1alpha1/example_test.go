// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

func Example() {
	for _, spec := range []string{
		`{"limit": 25, "maxWait": 50, "reclaimAfter": "30s"}`,
		`{"limit": 25, "maxWait": "5m", "reclaimAfter": "30s"}`,
		`{"limit": 0, "reclaimAfter": "30s"}`,
	} {
		b, errs := v1alpha1.Parse([]byte(`{"apiVersion": "servicebulkhead.io/v1alpha1", "kind": "ServiceBulkhead",
			"metadata": {"name": "payments"}, "spec": ` + spec + `}`))
		if len(errs) == 0 {
			errs = v1alpha1.Validate(b)
		}
		for _, err := range errs {
			fmt.Println("refused:", err)
		}
		if len(errs) == 0 {
			fmt.Println("warnings:", v1alpha1.Warnings(b))
		}
	}
	// Output:
	// refused: spec.maxWait: Invalid value: "integer": spec.maxWait in body must be of type string: "integer"
	// refused: spec.maxWait: Invalid value: "5m": must be at most 60s: an unbounded wait is the pile-up that a bulkhead exists to prevent
	// warnings: [spec.limit: 0 is the kill switch: no call to the service is admitted; set 1 or more unless the service is meant to be cut off]
}

func ExampleValidateSet() {
	payments := &v1alpha1.ServiceBulkhead{}
	payments.Name, payments.Spec.Limit, payments.Spec.ReclaimAfter = "payments", new(int32(25)), "30s"
	rival := payments.DeepCopy()
	rival.Name, rival.Spec.Service = "rival", "payments"

	for _, errs := range v1alpha1.ValidateSet([]*v1alpha1.ServiceBulkhead{payments, rival}) {
		fmt.Println(errs)
	}
	// Output:
	// []
	// [spec.service: Duplicate value: "payments": service payments belongs to ServiceBulkhead payments in ConfigMap service-bulkheads: delete one of the two]
}
