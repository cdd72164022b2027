// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// problem is a problem document as RFC 9457 defines it. Its type is about:blank,
// which means that the status says it all, and is left out.
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Bulkhead and Reason are members of our own.
	Bulkhead string `json:"bulkhead"`
	Reason   string `json:"reason"`
}

// refuse answers a request that was not admitted.
func refuse(w http.ResponseWriter, bulkhead string, err error) {
	const status = http.StatusServiceUnavailable
	reason, detail := explainRefusal(err)
	text, _ := json.Marshal(problem{http.StatusText(status), status, detail, bulkhead, reason}) //nolint:errchkjson // strings and a number always marshal
	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "Etag", "Last-Modified"} {
		h.Del(name) // of the answer that somebody outside expected; http.Error does the same
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if saturated, ok := errors.AsType[*limiter.SaturatedError](err); ok && saturated.RetryAfter > 0 {
		h.Set("Retry-After", seconds(saturated.RetryAfter))
	}
	if errors.Is(err, limiter.ErrDraining) {
		// The client's next request is to find another process, not this connection.
		h.Set("Connection", "close")
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}

// explainRefusal puts into words why a request was not admitted.
func explainRefusal(err error) (reason, detail string) {
	switch {
	case errors.Is(err, limiter.ErrSaturated):
		return "saturated", "As many requests as are allowed at once are in flight."
	case errors.Is(err, limiter.ErrDraining):
		return "draining", "This process is ending; the next request may reach another."
	case errors.Is(err, limiter.ErrRefused):
		return "refused", "No bulkhead is configured for these requests, and they are refused without one."
	case errors.Is(err, limiter.ErrClosed):
		return "closed", "These requests are no longer served."
	default:
		return "cancelled", "The request ended before it was admitted."
	}
}

// seconds is a duration as Retry-After has it, never earlier than it is.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64(math.Ceil(d.Seconds())), 10)
}
