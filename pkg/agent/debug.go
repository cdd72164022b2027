// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	_ "embed" // the page
	"encoding/json"
	"html/template"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// DebugHandler shows what every bulkhead does now, as a page for people: what is in
// flight against the limit, who waits, what was shed and why, what lapsed and what
// that means, and how the agent gets on with its document.
//
//	mux.Handle("GET /debug/bulkheads", a.DebugHandler())
//
// With ?format=json, or for a client that accepts application/json and not
// text/html, it answers the same as JSON, where times are RFC 3339, durations are
// as Go writes them and ages are in seconds. With ?refresh=5 the page loads itself
// again every 5 s.
//
// The page changes nothing, and names the services that the process calls: serve it
// where metrics are served, not to the world.
func (a *Agent) DebugHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		a.overview(time.Now()).serve(w, r)
	})
}

//go:embed debug.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// serve answers with the overview in the form that the client wants.
func (o overview) serve(w http.ResponseWriter, r *http.Request) {
	o.Refresh = refresh(r)
	render, contentType := o.html, "text/html; charset=utf-8"
	if wantsJSON(r) {
		render, contentType = o.json, "application/json"
	}
	var text bytes.Buffer
	if err := render(&text); err != nil { // told as an error, and not as half a page
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept")
	_, _ = w.Write(text.Bytes())
}

func (o overview) html(to io.Writer) error { return page.Execute(to, o) }

func (o overview) json(to io.Writer) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	return encoder.Encode(o)
}

func wantsJSON(r *http.Request) bool {
	if format := r.URL.Query().Get("format"); format != "" {
		return format == "json"
	}
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// refresh is after how many seconds the page is to load itself again; 0 is never.
func refresh(r *http.Request) int {
	seconds, err := strconv.Atoi(r.URL.Query().Get("refresh"))
	if err != nil || seconds < 1 || seconds > 3600 {
		return 0
	}
	return seconds
}
