// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// A connection that is kept alive outlives the process's time as an endpoint.
func TestADrainAsksClientsToUseTheirConnectionsNoMore(t *testing.T) {
	a := bare(t, one(time.Minute, bulkheadconfig.Cancel), WithLameDuck(time.Hour))
	server := serve(t, a, func(http.ResponseWriter, *http.Request) {})
	closes := func(upgrade string) bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		must(t, err)
		request.Header.Set("Upgrade", upgrade)
		response, err := server.Client().Do(request)
		must(t, err)
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("status %s", response.Status)
		}
		return response.Close
	}
	if closes("") {
		t.Error("asked to leave without a drain")
	}
	ctx, cut := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _, _ = a.Shutdown(ctx) }()
	for a.Ready() {
		runtime.Gosched()
	}
	if !closes("") || closes("websocket") {
		t.Error("in the lame duck time: want to be asked to leave, unless the connection is to be upgraded")
	}
	cut()
	<-done
}

// The client of a request that came just before the drain would keep its connection.
func TestADrainAsksAlsoWhoCameBeforeIt(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"nothing":  func(http.ResponseWriter, *http.Request) {},
		"a status": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"bytes":    func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) },
		"a text":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") },
		"a copy":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, strings.NewReader("x")) },
		"a flush":  func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() },
		"in stages": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusOK)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := bare(t, one(time.Minute, bulkheadconfig.Cancel), WithLameDuck(time.Hour))
			ctx, cut := context.WithCancel(t.Context())
			done := make(chan struct{})
			server := serve(t, a, func(w http.ResponseWriter, r *http.Request) {
				go func() { defer close(done); _, _ = a.Shutdown(ctx) }()
				for a.Ready() {
					runtime.Gosched()
				}
				answer(w, r)
			})
			response, err := server.Client().Get(server.URL)
			must(t, err)
			defer response.Body.Close()
			if !response.Close {
				t.Error("not asked to leave")
			}
			cut()
			<-done
		})
	}
}
