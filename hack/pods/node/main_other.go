// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/machine"
)

func main() {
	fmt.Fprintln(os.Stderr, "a node cannot run here; missing:")
	fmt.Fprintln(os.Stderr, strings.Join(machine.Missing(machine.Facts{OS: runtime.GOOS}), "\n"))
	os.Exit(1)
}
