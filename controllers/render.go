// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// services is what a document holds, by service.
type services = map[string]bulkheadconfig.Service

// rendered is the document as it should be.
type rendered struct {
	services services
	revision string
	text     string
	// altered are the services whose entries are not what was last accepted.
	altered []string
}

// render writes down what the verdicts agreed on. Equal verdicts give equal
// bytes, in whatever order they come.
func render(verdicts []v1alpha1.Verdict) (rendered, error) {
	all := v1alpha1.Collect(verdicts)
	text, err := bulkheadconfig.Encode(all)
	if err != nil {
		return rendered{}, fmt.Errorf("render document: %w", err)
	}
	r := rendered{services: all, revision: bulkheadconfig.Revision(all), text: string(text)}
	for _, v := range verdicts {
		if v.Altered {
			r.altered = append(r.altered, v.Bulkhead.Service())
		}
	}
	return r, nil
}
