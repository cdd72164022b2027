// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

func TestOpenResponsesNeedNoGoroutines(t *testing.T) {
	a := bare(t, map[string]bulkheadconfig.Service{"payments": {Limit: 100, ReclaimAfter: time.Minute}})
	transport := a.Transport("payments", roundTripper(func(r *http.Request) (*http.Response, error) {
		return answer(io.NopCloser(strings.NewReader("paid")))(r)
	}))
	before := runtime.NumGoroutine()
	for range 100 {
		response, err := transport.RoundTrip(request(t, http.NoBody))
		must(t, err)
		defer response.Body.Close()
	}
	if n := runtime.NumGoroutine() - before; n > 0 {
		t.Errorf("%d goroutines for 100 responses", n)
	}
}
