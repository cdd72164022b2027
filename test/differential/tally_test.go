// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
)

// workers is how many objects are asked about at once.
const workers = 8

// tally counts what became of the specimens.
type tally struct {
	mu         sync.Mutex
	accepted   int
	refused    map[string]int // by rule
	complaints []string
}

// ask asks both judges about as many specimens, and a function whether it has to
// complain about what they say.
func ask(ctx context.Context, count int, generate func(number int) specimen,
	complain func(s specimen, api answer, ours []refusal) string,
) *tally {
	t := &tally{refused: map[string]int{}}
	numbers := make(chan int)
	var asking sync.WaitGroup
	for range workers {
		asking.Go(func() {
			defer GinkgoRecover()
			for number := range numbers {
				s := generate(number)
				api, err := tryToCreate(ctx, s.text)
				ours := judged(s.text)
				complaint := complain(s, api, ours)
				if err != nil {
					complaint = "the API server does not judge it: " + err.Error()
				}
				t.note(s, complaint, api, ours)
			}
		})
	}
	for number := range count {
		numbers <- number
	}
	close(numbers)
	asking.Wait()
	return t
}

func (t *tally) note(s specimen, complaint string, api answer, ours []refusal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if complaint != "" {
		t.complaints = append(t.complaints, fmt.Sprintf("object %d: %s\n   %s\n   API server: %s\n   ours:       %s",
			s.number, complaint, s.text, tell(api.refusals), tell(ours)))
		return
	}
	if len(api.refusals) == 0 {
		t.accepted++
	}
	for _, broken := range s.broken {
		if slices.ContainsFunc(api.refusals, broken.broken) {
			t.refused[broken.String()]++
		}
	}
}

// report is a line for each rule, the rarest first.
func (t *tally) report(rules []rule) string {
	of := map[string]int{}
	for _, r := range rules {
		of[r.String()] = t.refused[r.String()]
	}
	return fmt.Sprintf("%6d  accepted by both\n", t.accepted) + counts(of)
}

// counts writes a line for each, the rarest first.
func counts(of map[string]int) string {
	var lines []string
	for text, n := range of {
		lines = append(lines, fmt.Sprintf("%6d  %s", n, text))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// complaint is the first few, with how to see them again.
func (t *tally) complaint() string {
	few := t.complaints[:min(10, len(t.complaints))]
	return fmt.Sprintf("%d complaints; -differential.seed=%d repeats them\n%s", len(t.complaints), *seed, strings.Join(few, "\n"))
}
