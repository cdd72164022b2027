// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import "net/http"

// Middleware returns a handler that serves requests with next, as many at once as
// the bulkhead of that name allows.
//
//	http.Handle("/reports", a.Middleware("reports", reports))
//
// A request holds a slot until next returns or panics; with a hijacked connection,
// until that is closed. While it is held, a drain waits for it and reports it. next
// gets a context that also ends when the slot lapses, with limiter.ErrReclaimed as
// its cause (unless the bulkhead's OnReclaim is Release). A lapse closes no hijacked
// connection.
//
// A request that is not admitted is answered with 503 (Service Unavailable) and a
// problem document (RFC 9457) whose member "reason" is saturated, draining, refused,
// closed or cancelled. Retry-After is set only when something real is known.
//
// Once Shutdown has begun, each answer asks its client to use the connection no
// more, that to a request which came before as well: a connection that is kept alive
// goes on bringing requests when the process is no endpoint any more, until its
// server closes it, perhaps while one is on its way.
//
// The http.ResponseWriter that next gets is a Flusher, an io.ReaderFrom and a
// Hijacker where that of the server is, and http.ResponseController works on it.
func (a *Agent) Middleware(name string, next http.Handler) http.Handler {
	return &middleware{agent: a, name: name, next: next}
}

type middleware struct {
	agent *Agent
	name  string
	next  http.Handler
}

// ServeHTTP implements http.Handler.
func (m *middleware) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	leave := m.leave(w, r)
	leave()
	call, err := m.agent.Bulkhead(m.name).Begin(r.Context())
	if err != nil {
		refuse(w, m.name, err)
		return
	}
	w, hijacked := watchHijack(w, leave, call.End)
	inner := r.WithContext(call.Context())
	defer func() { // also when next panics
		// What next has set on its copy belongs to the request: the server removes the
		// files of its form, and who stands outside may ask which pattern matched.
		r.Form, r.PostForm, r.MultipartForm, r.Pattern = inner.Form, inner.PostForm, inner.MultipartForm, inner.Pattern
		if !hijacked() {
			leave()
			call.End()
		}
	}()
	m.next.ServeHTTP(w, inner)
}

// leave returns a function that asks the client to use the connection no more, if a
// drain has begun. It changes nothing once the answer's header has been sent. The
// answer to an upgrade says "Connection: Upgrade".
func (m *middleware) leave(w http.ResponseWriter, r *http.Request) func() {
	if r.Header.Get("Upgrade") != "" {
		return func() {}
	}
	header := w.Header()
	return func() {
		if !m.agent.Ready() {
			header.Set("Connection", "close")
		}
	}
}
