// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Report prints figures as they come, and remembers whether all are as they must be.
// Its methods may be called from several goroutines at once.
type Report struct {
	mu     sync.Mutex
	out    io.Writer
	begin  time.Time
	failed int
}

// NewReport prints to out.
func NewReport(out io.Writer) *Report { return &Report{out: out, begin: time.Now()} }

// Section begins a part.
func (r *Report) Section(format string, args ...any) {
	r.print("\n%6.1fs  %s\n", time.Since(r.begin).Seconds(), fmt.Sprintf(format, args...))
}

// Note prints a figure that nothing is asked of.
func (r *Report) Note(what, format string, args ...any) {
	r.print("          %-58s %s\n", what, fmt.Sprintf(format, args...))
}

// Must prints a figure, what is asked of it, and whether it is so.
func (r *Report) Must(ok bool, what, must, format string, args ...any) {
	mark := "ok"
	if !ok {
		mark = "FAILED"
		r.mu.Lock()
		r.failed++
		r.mu.Unlock()
	}
	r.print("  %-6s  %-58s %-24s must be %s\n", mark, what, fmt.Sprintf(format, args...), must)
}

// Err is an error when some figure was not as it must be.
func (r *Report) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed > 0 {
		return fmt.Errorf("figures that are not as they must be: %d", r.failed)
	}
	return nil
}

// Took is how long it has been since the report began.
func (r *Report) Took() time.Duration { return time.Since(r.begin) }

func (r *Report) print(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintf(r.out, format, args...)
}
