// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// BenchmarkTransport is a request and its response: bare, and through a bulkhead
// with each onReclaim; over a kept connection on loopback, and over nothing at all,
// so that what the bulkhead adds can be seen.
func BenchmarkTransport(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "paid") }))
	defer server.Close()
	a, err := agent.New(b.TempDir(), agent.WithLameDuck(0), agent.WithLogger(slog.New(slog.DiscardHandler)),
		agent.WithUnlisted(agent.Defaults(map[string]bulkheadconfig.Service{
			"cancel":  {Limit: 8, ReclaimAfter: time.Minute, OnReclaim: bulkheadconfig.Cancel},
			"release": {Limit: 8, ReclaimAfter: time.Minute, OnReclaim: bulkheadconfig.Release},
		})))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _, _ = a.Shutdown(context.Background()) }()
	for _, over := range []struct {
		name string
		next http.RoundTripper
	}{{"loopback", server.Client().Transport}, {"nothing", nothing{}}} {
		for _, impl := range []struct {
			name      string
			transport http.RoundTripper
		}{{"bare", over.next}, {"cancel", a.Transport("cancel", over.next)}, {"release", a.Transport("release", over.next)}} {
			b.Run(fmt.Sprintf("over=%s/impl=%s", over.name, impl.name), func(b *testing.B) { exchange(b, impl.transport, server.URL) })
		}
	}
}

// nothing answers at once, with nothing.
type nothing struct{}

func (nothing) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(nothing{}), Request: r}, nil
}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }

// exchange sends requests one after another and reads every response to its end.
func exchange(b *testing.B, transport http.RoundTripper, url string) {
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		response, err := transport.RoundTrip(request)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
}
