// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// Transport returns an http.RoundTripper that makes its requests through the
// service's bulkhead. A nil next is http.DefaultTransport.
//
//	client := &http.Client{Transport: a.Transport("payments", nil)}
//
// A request holds a slot until the response's body has been closed or read to its
// end, so close every body, as net/http asks for anyway. After a response 101
// (Switching Protocols) it holds it until the connection is closed; nothing but its
// owner closes that one, also when the slot lapses.
//
// RoundTrip waits for a slot for at most the wait budget. It returns the errors of
// limiter.Bulkhead.Acquire, without having sent anything; errors.Is finds them
// through http.Client's *url.Error. When the slot lapses, the request's context
// ends, also while the body is read (unless the bulkhead's OnReclaim is Release);
// errors.Is(err, limiter.ErrReclaimed) then holds for the error of RoundTrip or of
// Read.
//
// The end of the response is the end of the call: what is still to be sent of the
// request's body then is not (an HTTP/1 connection does not send it either).
//
// The redirects of an http.Client, and retries outside of it, are requests of their
// own; the retries that http.Transport makes by itself are not.
func (a *Agent) Transport(service string, next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &transport{agent: a, service: service, next: next}
}

// transport asks for its bulkhead with each request, as one that had to share one
// may have its own by now.
type transport struct {
	agent   *Agent
	service string
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	call, err := t.agent.Bulkhead(t.service).Begin(request.Context())
	if err != nil {
		if request.Body != nil {
			_ = request.Body.Close() // a RoundTripper closes it whatever happens
		}
		return nil, err
	}
	endNow := true
	defer func() { // also when next panics
		if endNow {
			call.End()
		}
	}()
	sent := request.WithContext(call.Context())
	response, err := t.next.RoundTrip(sent)
	if response != nil && response.Request == sent {
		response.Request = request // as http.Transport does: the context of ours ends with the call
	}
	if err != nil {
		return response, call.Explain(err)
	}
	endNow = !holdUntilRead(response, call)
	return response, nil
}

// CloseIdleConnections is what http.Client.CloseIdleConnections looks for.
func (t *transport) CloseIdleConnections() {
	if closer, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// holdUntilRead lets the response's body end the call, if it has one.
func holdUntilRead(response *http.Response, call limiter.Ongoing) bool {
	if response == nil || response.Body == nil || response.Body == http.NoBody {
		return false
	}
	held := &body{ReadCloser: response.Body, call: call}
	response.Body = held
	if conn, ok := held.ReadCloser.(io.Writer); ok && response.StatusCode == http.StatusSwitchingProtocols {
		response.Body = &upgraded{body: held, Writer: conn}
	}
	return true
}

// body is a response's body that ends the call when it ends.
type body struct {
	io.ReadCloser
	call limiter.Ongoing
}

// Read ends the call when nothing more can come: at the end, or at an error.
func (b *body) Read(p []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(p)
	switch {
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF):
		err = b.call.Explain(err)
	}
	b.call.End()
	return n, err
}

// Close closes the body and ends the call.
func (b *body) Close() error {
	defer b.call.End()
	return b.ReadCloser.Close()
}

// upgraded is the connection of a response 101. Each direction of it can end by
// itself: only Close ends the call.
type upgraded struct {
	*body
	io.Writer
}

// CloseWrite ends the direction to the service, where the connection can do that.
func (u *upgraded) CloseWrite() error { return closeWrite(u.ReadCloser) }

func closeWrite(conn any) error {
	if c, ok := conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return fmt.Errorf("close write: %w", http.ErrNotSupported)
}

// Read reads from the connection.
func (u *upgraded) Read(p []byte) (n int, err error) {
	n, err = u.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = u.call.Explain(err)
	}
	return n, err
}
