// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package bulkheadconfig

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// DurationPattern is the Gateway API's duration format (GEP-2257): one to four
// numbers of at most five digits, each with its unit h, m, s or ms.
const DurationPattern = `^([0-9]{1,5}(h|m|s|ms)){1,4}$`

var durationFormat = regexp.MustCompile(DurationPattern)

// ParseDuration reads a duration in the format of GEP-2257. Signs, fractions,
// days and a bare number, even 0, are refused.
func ParseDuration(text string) (time.Duration, error) {
	if !durationFormat.MatchString(text) {
		return 0, fmt.Errorf("%q is not a duration: write one to four whole numbers of at most five digits, "+
			"each with its unit h, m, s or ms, such as 50ms, 30s or 1m30s (0 is written 0s)", text)
	}
	// The pattern is a subset of Go's format, and four times 99,999 hours is far
	// below the largest time.Duration.
	return time.ParseDuration(text)
}

// FormatDuration writes a duration in the shortest form of GEP-2257 that
// ParseDuration reads back, cutting off what is less than a millisecond.
func FormatDuration(d time.Duration) string {
	var out strings.Builder
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}} {
		if n := d / unit.size; n > 0 {
			out.WriteString(strconv.FormatInt(int64(n), 10) + unit.name)
			d %= unit.size
		}
	}
	if out.Len() == 0 {
		return "0s"
	}
	return out.String()
}
