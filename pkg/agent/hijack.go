// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
)

// watchHijack returns a response writer that calls closed when a connection that
// was hijacked through it is closed, and a function that tells whether one was. It
// calls answering before whatever may send the answer's header. Where nothing can be
// hijacked, the writer is the one that was passed in.
func watchHijack(w http.ResponseWriter, answering, closed func()) (http.ResponseWriter, func() bool) {
	if !hijackable(w) {
		return w, func() bool { return false }
	}
	watched := &hijackWriter{ResponseWriter: w, answering: answering, closed: closed}
	return watched, watched.hijacked.Load
}

// hijackable looks for what http.ResponseController would find.
func hijackable(w http.ResponseWriter) bool {
	for {
		if _, ok := w.(http.Hijacker); ok {
			return true
		}
		inner, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = inner.Unwrap()
	}
}

// hijackWriter is the response writer of an HTTP/1 server, which can do a few
// things more than the interface says; all of them still work.
type hijackWriter struct {
	http.ResponseWriter
	answering func()
	closed    func()
	hijacked  atomic.Bool
}

// WriteHeader implements http.ResponseWriter.
func (w *hijackWriter) WriteHeader(status int) {
	if status >= http.StatusOK { // those below tell of nothing but progress
		w.answering()
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *hijackWriter) Write(p []byte) (int, error) {
	w.answering()
	return w.ResponseWriter.Write(p)
}

// Hijack implements http.Hijacker.
func (w *hijackWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return conn, buffered, err
	}
	w.hijacked.Store(true)
	return &hijackedConn{conn, w.closed}, buffered, nil
}

// Unwrap is what http.ResponseController looks for.
func (w *hijackWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher.
func (w *hijackWriter) Flush() { _ = w.FlushError() }

// FlushError is what http.ResponseController prefers to Flush.
func (w *hijackWriter) FlushError() error {
	w.answering()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// ReadFrom implements io.ReaderFrom: a server sends files without copying them.
func (w *hijackWriter) ReadFrom(from io.Reader) (int64, error) {
	w.answering()
	return io.Copy(w.ResponseWriter, from)
}

// WriteString implements io.StringWriter.
func (w *hijackWriter) WriteString(s string) (int, error) {
	w.answering()
	return io.WriteString(w.ResponseWriter, s)
}

// hijackedConn is a connection that tells when it is closed.
type hijackedConn struct {
	net.Conn
	closed func()
}

// Close closes the connection.
func (c *hijackedConn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

// NetConn returns the connection itself, as tls.Conn does. To close that one goes
// unnoticed.
func (c *hijackedConn) NetConn() net.Conn { return c.Conn }

// CloseWrite ends the direction to the client, where the connection can do that.
func (c *hijackedConn) CloseWrite() error { return closeWrite(c.Conn) }

// ReadFrom implements io.ReaderFrom: the kernel copies between connections by itself.
func (c *hijackedConn) ReadFrom(from io.Reader) (int64, error) { return io.Copy(c.Conn, from) }

// WriteTo implements io.WriterTo, for the same reason.
func (c *hijackedConn) WriteTo(to io.Writer) (int64, error) { return io.Copy(to, c.Conn) }
