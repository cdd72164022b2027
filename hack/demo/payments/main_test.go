// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// serve runs the service until ctx ends, and returns its URL and where the end is
// told.
func serve(ctx context.Context, t *testing.T, s *service) (url string, ended <-chan error) {
	t.Helper()
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, "127.0.0.1:0", s, write)
		_ = write.Close()
	}()
	line := make([]byte, 100)
	n, err := read.Read(line)
	if err != nil {
		t.Fatal(err, <-done)
	}
	url, found := strings.CutPrefix(strings.TrimSpace(string(line[:n])), "listening on ")
	if !found {
		t.Fatalf("printed %q", line[:n])
	}
	return url, done
}

func TestItEndsWhenItIsToldThoughACallHangs(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	s := &service{hangs: true}
	url, ended := serve(ctx, t, s)
	asked := make(chan error, 1)
	go func() {
		response, err := http.Post(url+"/charge", "", http.NoBody)
		if err == nil {
			_ = response.Body.Close()
		}
		asked <- err
	}()
	awaitCall(t, s)
	begin := time.Now()
	stop()
	if err := <-ended; err != nil || time.Since(begin) > 2*endGrace {
		t.Errorf("ended after %v: %v", time.Since(begin), err)
	}
	if err := <-asked; err == nil {
		t.Error("a call that hung was answered")
	}
}

// awaitCall waits until a call is under way.
func awaitCall(t *testing.T, s *service) {
	t.Helper()
	ticker, late := time.NewTicker(time.Millisecond), time.After(10*time.Second)
	defer ticker.Stop()
	for inFlight := 0; inFlight == 0; inFlight, _, _ = stats(t, s) {
		select {
		case <-ticker.C:
		case <-late:
			t.Fatal("the call has not arrived")
		}
	}
}

func TestAnAddressInUseIsAnError(t *testing.T) {
	url, _ := serve(t.Context(), t, &service{})
	if response, err := http.Get(url + "/readyz"); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("ready: %v, %v", response, err)
	} else {
		_ = response.Body.Close()
	}
	err := run(t.Context(), strings.TrimPrefix(url, "http://"), &service{}, io.Discard)
	if err == nil {
		t.Error("a second service has the same address")
	}
}
