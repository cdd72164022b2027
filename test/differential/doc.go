// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package differential asks two judges about thousands of generated
// ServiceBulkheads: a real API server, and Parse and Validate of package v1alpha1,
// which know no cluster. They must agree on every one, name the same field where
// they refuse, and warn of the same risks.
//
//	KUBEBUILDER_ASSETS=$(go run ./hack/cluster assets) go test -v ./test/differential
//
// The rules are read from the CRD: one that no generated object breaks fails the
// test, so that a new rule needs a new generator. With -v, every rule is printed
// with how many objects broke it. A failure tells the seed;
// -differential.seed=N repeats it, and -differential.objects=N asks for more.
//
// It does not judge the rules themselves: whether a bound is a wise one is for the
// table in api/v1alpha1/testdata to say.
package differential
