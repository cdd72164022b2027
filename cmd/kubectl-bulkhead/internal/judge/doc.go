// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package judge applies the API's rules to the ServiceBulkheads of an input: to
// each of them, and to all of them together.
//
//	report := judge.Judge(contents, "shop")
//	for _, finding := range report.Findings {
//		fmt.Println(finding.File, finding.Line, finding.Message)
//	}
//
// The rules, and their words, are those of package v1alpha1. What only a change
// can break is not judged, for want of the object before it.
package judge
