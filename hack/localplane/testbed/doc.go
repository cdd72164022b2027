// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testbed is a local control plane with the operator installed on it, for
// the programs that try the operator out at scale and under faults.
//
//	bed, err := testbed.New(ctx)
//	if err != nil {
//		return err
//	}
//	defer bed.Close()
//	operator, err := bed.StartOperator()
//
// The operators are processes of the real binary, with the rights that
// config/default gives their ServiceAccount and no others. The package judges
// nothing but what a Report is told.
package testbed
