// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"text/tabwriter"

	. "github.com/onsi/ginkgo/v2"
)

// noted is what is told at the end of a run, as one table.
var noted struct {
	mu   sync.Mutex
	rows []row
}

type row struct{ group, name, value string }

// note keeps a figure for the table at the end of the run. Groups come in the order
// of their first figure.
func note(group, name, format string, args ...any) {
	value := fmt.Sprintf(format, args...)
	GinkgoWriter.Printf("%s: %s: %s\n", group, name, value)
	noted.mu.Lock()
	defer noted.mu.Unlock()
	noted.rows = append(noted.rows, row{group, name, value})
}

// Whether or not somebody looks at the details, the figures are shown.
var _ = ReportAfterSuite("figures", func(Report) {
	noted.mu.Lock()
	defer noted.mu.Unlock()
	var groups []string
	for _, r := range noted.rows {
		if !slices.Contains(groups, r.group) {
			groups = append(groups, r.group)
		}
	}
	fmt.Println()
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer table.Flush()
	for _, group := range groups {
		title := group
		for _, r := range noted.rows {
			if r.group == group {
				fmt.Fprintf(table, "%s\t%s\t%s\n", title, r.name, r.value)
				title = ""
			}
		}
	}
})
