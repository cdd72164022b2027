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
	fmt.Fprintln(out, figures.machine)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "work\tagainst\tratio\trange\tns/op\tallocs/op\tmust\taim")
	missed := false
	for _, r := range rows {
		s, ok := summarise(figures, r)
		if !ok {
			return fmt.Errorf("%s: no figures for %s and %s", r.work, r.ours, r.peer)
		}
		allocs, allocsMissed := r.markAllocs(s.allocs)
		fmt.Fprintf(table, "%s\t%s\t%.2f\t%.2f–%.2f\t%.0f\t%s\t%s\t%s\n",
			r.work, r.against, s.median, s.low, s.high, s.ours, allocs, mark(s.median, r.must), mark(s.median, r.aim))
		missed = missed || allocsMissed || r.must > 0 && s.median > r.must
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

// markAllocs shows the allocations, and whether there are some where none may be.
func (r row) markAllocs(allocs []float64) (text string, missed bool) {
	switch {
	case len(allocs) == 0:
		return "", r.noAllocs
	case !r.noAllocs:
		return fmt.Sprintf("%.0f", median(allocs)), false
	case slices.Max(allocs) > 0:
		return fmt.Sprintf("%.0f, must be 0 ✗", slices.Max(allocs)), true
	default:
		return "0 ✓", false
	}
}

// figures are each benchmark's, in the order of the rounds.
type figures struct {
	// machine is what they were measured on.
	machine     string
	nanoseconds map[string][]float64
	allocs      map[string][]float64
}

func read(in io.Reader) (figures, error) {
	f := figures{nanoseconds: map[string][]float64{}, allocs: map[string][]float64{}}
	reader := benchfmt.NewReader(in, "stdin")
	for reader.Scan() {
		result, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		name := rowName(result.Name)
		if seconds, ok := result.Value("sec/op"); ok {
			f.nanoseconds[name] = append(f.nanoseconds[name], seconds*1e9)
		}
		if allocs, ok := result.Value("allocs/op"); ok {
			f.allocs[name] = append(f.allocs[name], allocs)
		}
		f.machine = machine(result, len(f.nanoseconds[name]))
	}
	return f, reader.Err()
}

func machine(result *benchfmt.Result, rounds int) string {
	_, parts := result.Name.Parts()
	processors := "1"
	if last := string(parts[len(parts)-1]); last[0] == '-' {
		processors = last[1:]
	}
	return fmt.Sprintf("%d rounds, GOMAXPROCS=%s, %s/%s, %s", rounds, processors,
		result.GetConfig("goos"), result.GetConfig("goarch"), result.GetConfig("cpu"))
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

// summary is a row's ratio over the rounds, and our own median time and allocations.
type summary struct {
	median, low, high, ours float64
	allocs                  []float64
}

func summarise(f figures, r row) (summary, bool) {
	ours, peer := f.nanoseconds[r.ours], f.nanoseconds[r.peer]
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
	return summary{median(ratios), slices.Min(ratios), slices.Max(ratios), median(ours), f.allocs[r.ours]}, true
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
