// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAskTellsWhatTheAnswerSays(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(PodHeader, "shop-1")
		if r.Method != http.MethodPost {
			http.Error(w, "draining", http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	if a := Ask(server.Client(), http.MethodPost, server.URL); a.Outcome != OK || a.Pod != "shop-1" || a.Status != 200 || a.Err != nil || a.Took <= 0 || a.Sent.IsZero() {
		t.Errorf("sold: %+v", a)
	}
	a := Ask(server.Client(), http.MethodGet, server.URL)
	if a.Outcome != Failed || a.Pod != "shop-1" || a.Status != 503 || a.Err == nil || !strings.Contains(a.Err.Error(), "draining") {
		t.Errorf("failed: %+v", a)
	}
	if a := Ask(server.Client(), "A B", server.URL); a.Outcome != Failed || a.Status != 0 || a.Err == nil {
		t.Errorf("not sent: %+v", a)
	}
}

// Of an answer that is cut short it is known whose it was.
func TestAnAnswerThatIsCutShortFailed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(PodHeader, "shop-1")
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("so"))
	}))
	defer server.Close()
	if a := Ask(server.Client(), http.MethodPost, server.URL); a.Outcome != Failed || a.Err == nil || a.Status != 200 || a.Pod != "shop-1" {
		t.Errorf("%+v", a)
	}
}
