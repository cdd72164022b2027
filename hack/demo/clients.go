// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
)

// httpClient is for questions, not for load: none takes long.
var httpClient = &http.Client{Timeout: 5 * time.Second}

// get hands the body of an answer of 200 to read.
func get(ctx context.Context, url string, read func(io.Reader) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := httpClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, response.Status)
	}
	if err := read(response.Body); err != nil {
		return fmt.Errorf("GET %s: %w", url, err)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

func ignore(io.Reader) error { return nil }

// paymentService is the slow service, by its URL.
type paymentService string

// stats asks the service what it saw.
func (p paymentService) stats(ctx context.Context) (words.Payments, error) {
	var stats words.Payments
	err := get(ctx, string(p)+"/stats", func(body io.Reader) error { return json.NewDecoder(body).Decode(&stats) })
	return stats, err
}

// setLatency changes how long calls take that come from now on; "hang" for ever.
func (p paymentService) setLatency(ctx context.Context, latency string) error {
	return get(ctx, string(p)+"/latency?d="+url.QueryEscape(latency), ignore)
}

// resetPeak makes the service forget how many calls it had at once.
func (p paymentService) resetPeak(ctx context.Context) error {
	return get(ctx, string(p)+"/reset", ignore)
}

// shopService is the application, by its URL.
type shopService string

// bulkhead reads the state of the bulkhead "payments" from the metrics.
func (s shopService) bulkhead(ctx context.Context) (bulkhead, error) {
	var b bulkhead
	err := get(ctx, string(s)+"/metrics", func(body io.Reader) (err error) {
		b, err = parseBulkhead(body, "payments")
		return err
	})
	return b, err
}

// ready says whether the shop reports that it wants requests.
func (s shopService) ready(ctx context.Context) bool {
	return get(ctx, string(s)+"/readyz", ignore) == nil
}
