// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"slices"

	"github.com/servicebulkhead/servicebulkhead/cmd/kubectl-bulkhead/internal/manifest"
)

// Severity says how bad a finding is.
type Severity string

const (
	// Unreadable is what could not be checked.
	Unreadable Severity = "unreadable"
	// Error is what the API server or the operator would refuse.
	Error Severity = "error"
	// Warning is legal but risky.
	Warning Severity = "warning"
)

// Finding is one thing to tell. The names of its fields in JSON are public.
type Finding struct {
	Severity  Severity `json:"severity"`
	File      string   `json:"file"`
	Line      int      `json:"line,omitempty"` // absent: the whole file
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name,omitempty"`
	Field     string   `json:"field,omitempty"`
	Message   string   `json:"message"`
}

// Report is what became of an input. The names of its fields in JSON are public.
type Report struct {
	// Checked counts the ServiceBulkheads, Skipped the other objects.
	Checked int `json:"checked"`
	Skipped int `json:"skipped"`
	// Errors, Warnings and Unreadable count the findings of each severity.
	Errors     int `json:"errors"`
	Warnings   int `json:"warnings"`
	Unreadable int `json:"unreadable"`
	// Findings are in the order of the files, then of their lines.
	Findings []Finding `json:"findings"`
}

// ofText makes findings of what is wrong with a file's text.
func ofText(severity Severity, faults []manifest.Fault) (findings []Finding) {
	for _, f := range faults {
		findings = append(findings, Finding{Severity: severity, File: f.File, Line: f.Line, Message: f.Message})
	}
	return findings
}

// add takes the findings of one file in.
func (r *Report) add(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Field, b.Field))
	})
	for _, f := range findings {
		switch f.Severity {
		case Unreadable:
			r.Unreadable++
		case Error:
			r.Errors++
		case Warning:
			r.Warnings++
		}
	}
	r.Findings = append(r.Findings, findings...)
}
