// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package house tests where the walls of this repository stand: who may import
// whom, what an importer of the agent inherits, and how large the CRD may be.
//
// depguard, in .golangci.yml, says the same of single imports while one writes;
// these tests follow them to the end.
package house
