// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// The whole program against a shop that answers only once it has been told to end.
func TestItWaitsForTheAnswersAndReports(t *testing.T) {
	arrived, answer := make(chan string, 1000), make(chan struct{})
	shop := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- r.Method
		<-answer
	}))
	defer shop.Close()
	read, write := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, options{url: shop.URL, method: http.MethodPost, rate: 100, timeout: time.Minute, listen: "127.0.0.1:0"}, write)
	}()
	out := bufio.NewReader(read)
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	for range 3 {
		if method := <-arrived; method != http.MethodPost {
			t.Errorf("method %s", method)
		}
	}
	stop()
	response, err := http.Get(url + "/report") // it can be asked while it waits
	if err != nil {
		t.Fatal(err)
	}
	var waiting, last report
	if err := json.NewDecoder(response.Body).Decode(&waiting); err != nil || waiting.InFlight < 3 || waiting.Answered != 0 {
		t.Errorf("while it waits: %+v, %v", waiting, err)
	}
	_ = response.Body.Close()
	close(answer)
	if err := json.NewDecoder(out).Decode(&last); err != nil || last.Sent < 3 || last.OK != last.Sent || last.InFlight != 0 {
		t.Errorf("in the end: %+v, %v", last, err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if response, err := http.Get(url + "/report"); err == nil {
		_ = response.Body.Close()
		t.Error("it still answers")
	}
}
