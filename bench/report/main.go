// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command report turns the output of several interleaved rounds of the benchmarks
// into one table: each row is a ratio of two figures of the same round, as its
// median and range over the rounds, and whether that is what the row asks for.
//
//	report <rounds.txt
//
// It exits 1 if a row does not hold what it must.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/perf/benchfmt"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

var errMissed = errors.New("a row does not hold what it must")

func run(in io.Reader, out io.Writer) error {
	figures, err := read(in)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "work\tagainst\tratio\trange\tns/op\tmust\taim")
	missed := false
	for _, r := range rows {
		s, ok := summarise(figures, r)
		if !ok {
			return fmt.Errorf("%s: no figures for %s and %s", r.work, r.ours, r.peer)
		}
		fmt.Fprintf(table, "%s\t%s\t%.2f\t%.2f–%.2f\t%.0f\t%s\t%s\n",
			r.work, r.against, s.median, s.low, s.high, s.ours, mark(s.median, r.must), mark(s.median, r.aim))
		missed = missed || s.median > r.must
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if missed {
		return errMissed
	}
	return nil
}

// mark says whether a ratio is at most what is asked for; 0 asks for nothing.
func mark(ratio, most float64) string {
	switch {
	case most == 0:
		return ""
	case ratio <= most:
		return fmt.Sprintf("≤ %.2f ✓", most)
	default:
		return fmt.Sprintf("≤ %.2f ✗", most)
	}
}

// read collects each benchmark's time in ns, in the order of the rounds.
func read(in io.Reader) (map[string][]float64, error) {
	figures := map[string][]float64{}
	reader := benchfmt.NewReader(in, "stdin")
	for reader.Scan() {
		result, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		seconds, ok := result.Value("sec/op")
		if !ok {
			continue
		}
		name := rowName(result.Name)
		figures[name] = append(figures[name], seconds*1e9)
	}
	return figures, reader.Err()
}

// rowName is a benchmark's name without the number of processors.
func rowName(name benchfmt.Name) string {
	base, parts := name.Parts()
	var out strings.Builder
	out.Write(base)
	for _, part := range parts {
		if part[0] == '/' {
			out.Write(part)
		}
	}
	return out.String()
}

// summary is a row's ratio over the rounds, and our own median time.
type summary struct{ median, low, high, ours float64 }

func summarise(figures map[string][]float64, r row) (summary, bool) {
	ours, peer := figures[r.ours], figures[r.peer]
	if r.peer == nanoseconds {
		peer = slices.Repeat([]float64{1}, len(ours))
	}
	n := min(len(ours), len(peer))
	if n == 0 {
		return summary{}, false
	}
	ratios := make([]float64, n)
	for i := range n {
		ratios[i] = ours[i] / peer[i]
	}
	return summary{median(ratios), slices.Min(ratios), slices.Max(ratios), median(ours)}, true
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
