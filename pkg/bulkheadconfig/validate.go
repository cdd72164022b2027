// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package bulkheadconfig

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

// maxDuration is the largest duration the format can write: 99,999 hours.
const maxDuration = 99_999 * time.Hour

// validate checks what an agent needs to run a bulkhead safely: signs, ranges
// and known words. How large a limit or a wait may be is policy, which the API
// checks: were it checked here too, loosening it would freeze older agents.
func (s Service) validate(path string) error {
	checks := []error{
		checkInt(path+".limit", s.Limit, 0),
		checkDuration(path+".maxWait", s.MaxWait, 0),
		checkDuration(path+".reclaimAfter", s.ReclaimAfter, time.Millisecond),
		checkWord(path+".onReclaim", s.OnReclaim, Cancel, Release),
		checkWord(path+".enforcement", s.Enforcement, Enforce, Shadow),
	}
	if s.DrainTimeout != nil {
		checks = append(checks, checkDuration(path+".drainTimeout", *s.DrainTimeout, 0))
	}
	if s.Queue != nil {
		checks = append(checks, checkInt(path+".queue.capacity", s.Queue.Capacity, 1),
			checkInt(path+".queue.maxConcurrency", s.Queue.MaxConcurrency, 0))
	}
	for _, err := range checks {
		if err != nil {
			return err
		}
	}
	return nil
}

func checkInt(path string, n, least int) error {
	if n < least || n > math.MaxInt32 {
		return fmt.Errorf("%s: %d: must be from %d to %d", path, n, least, math.MaxInt32)
	}
	return nil
}

func checkDuration(path string, d, least time.Duration) error {
	if d < least || d > maxDuration {
		return fmt.Errorf("%s: %v: must be from %s to %s", path, d, FormatDuration(least), FormatDuration(maxDuration))
	}
	return nil
}

func checkWord[T ~string](path string, word T, first, second T) error {
	if word != "" && word != first && word != second {
		return fmt.Errorf("%s: %q: must be %s or %s", path, word, first, second)
	}
	return nil
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,253}$`)

// checkName keeps names apart from those that agents use for themselves, and fit
// for a label of a metric. That they are DNS labels is policy.
func checkName(name string) error {
	if !namePattern.MatchString(name) {
		return fmt.Errorf("services: %q: a service's name has 1 to 253 letters, digits, '.', '_' or '-'", name)
	}
	return nil
}

func servicePath(name string) string { return "services[" + strconv.Quote(name) + "]" }
