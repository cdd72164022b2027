// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line of kubectl-bulkhead: flags, exit codes, and what
// is printed where.
//
//	code := cli.Run([]string{"validate", "-f", "-"}, os.Stdin, os.Stdout, os.Stderr)
//
// Findings go to stdout, everything about the run itself to stderr. It never asks,
// writes no files, and talks to no cluster.
package cli
