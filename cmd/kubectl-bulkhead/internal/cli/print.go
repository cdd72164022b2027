// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/servicebulkhead/servicebulkhead/cmd/kubectl-bulkhead/internal/judge"
)

// printers are the formats of the findings.
var printers = map[string]func(io.Writer, judge.Report) error{
	"text": printText,
	"json": printJSON,
}

// printText prints a line for each finding, as compilers do, so that editors and
// annotators find the place.
func printText(out io.Writer, report judge.Report) error {
	buffered := bufio.NewWriter(out)
	for _, f := range report.Findings {
		fmt.Fprintln(buffered, line(f))
	}
	return buffered.Flush()
}

func line(f judge.Finding) string {
	place := f.File
	if f.Line > 0 {
		place += ":" + strconv.Itoa(f.Line)
	}
	parts := []string{place}
	if f.Severity == judge.Warning {
		parts = append(parts, "warning")
	}
	if f.Severity != judge.Unreadable && (f.Field != "" || f.Name != "") {
		parts = append(parts, object(f))
	}
	if f.Field != "" {
		parts = append(parts, shorten(f.Field, maxField))
	}
	return printable(strings.Join(append(parts, shorten(f.Message, maxMessage)), ": "))
}

// printable keeps a line one line, and from moving a terminal's cursor or changing
// its colours: what a manifest says is not what a terminal is to do.
func printable(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			out.WriteByte(' ')
		case strconv.IsPrint(r):
			out.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return out.String()
}

// What is printed of a name, a field and a message; legal names have up to 253
// characters.
const (
	maxName    = 253
	maxField   = 512
	maxMessage = 4096
)

// shorten cuts a text that nobody would read to its end.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// object is how a person calls it.
func object(f judge.Finding) string {
	switch {
	case f.Name == "":
		return "ServiceBulkhead"
	case f.Namespace == "":
		return "ServiceBulkhead " + shorten(f.Name, maxName)
	}
	return "ServiceBulkhead " + shorten(f.Namespace, maxName) + "/" + shorten(f.Name, maxName)
}

func printJSON(out io.Writer, report judge.Report) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(report)
}

// summary tells what was done, and how it went.
func summary(report judge.Report) string {
	text := fmt.Sprintf("checked %s, skipped %s: ",
		count(report.Checked, "ServiceBulkhead"), count(report.Skipped, "other object"))
	if len(report.Findings) == 0 {
		return text + "nothing to say"
	}
	text += count(report.Errors, "error") + ", " + count(report.Warnings, "warning")
	if report.Unreadable > 0 {
		text += ", " + strconv.Itoa(report.Unreadable) + " unreadable"
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
