// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer is a service that answers with that body.
func answer(body io.ReadCloser) roundTripper {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
	}
}

func request(t *testing.T, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://payments.example/charge", body)
	must(t, err)
	return r
}

func one(window time.Duration, onReclaim bulkheadconfig.OnReclaim) map[string]bulkheadconfig.Service {
	return map[string]bulkheadconfig.Service{"payments": {Limit: 1, ReclaimAfter: window, OnReclaim: onReclaim}}
}

func TestTransportHoldsASlotUntilTheResponseIsOver(t *testing.T) {
	broken := errors.New("broken")
	text := func() io.ReadCloser { return io.NopCloser(strings.NewReader("paid")) }
	for name, c := range map[string]struct {
		next roundTripper
		held bool
		end  func(io.ReadCloser)
	}{
		"closed":        {answer(text()), true, func(b io.ReadCloser) { _ = b.Close() }},
		"read":          {answer(text()), true, func(b io.ReadCloser) { _, _ = io.ReadAll(b) }},
		"read, closed":  {answer(text()), true, func(b io.ReadCloser) { _, _ = io.ReadAll(b); _ = b.Close() }},
		"fails on read": {answer(io.NopCloser(iotest.ErrReader(broken))), true, func(b io.ReadCloser) { _, _ = io.ReadAll(b) }},
		"no body":       {answer(http.NoBody), false, func(io.ReadCloser) {}},
		"fails at once": {func(*http.Request) (*http.Response, error) { return nil, broken }, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := bare(t, one(time.Minute, bulkheadconfig.Cancel))
			payments := a.Bulkhead("payments")
			response, err := a.Transport("payments", c.next).RoundTrip(request(t, http.NoBody))
			if c.end == nil {
				if !errors.Is(err, broken) || payments.InFlight() != 0 {
					t.Errorf("error %v, in flight %d; want the service's error and 0", err, payments.InFlight())
				}
				return
			}
			must(t, err)
			if held := payments.InFlight() == 1; held != c.held {
				t.Errorf("after RoundTrip: held %t, want %t", held, c.held)
			}
			c.end(response.Body)
			if s := payments.Stats(); s.InFlight != 0 || s.Counts.Admitted != 1 || s.Counts.StaleReleases != 0 {
				t.Errorf("afterwards: in flight %d, counts %+v", s.InFlight, s.Counts)
			}
			must(t, response.Body.Close())
		})
	}
}

func TestTransportReleasesWhenTheNextOnePanics(t *testing.T) {
	a := bare(t, one(time.Minute, bulkheadconfig.Cancel))
	func() {
		defer func() { _ = recover() }()
		response, _ := a.Transport("payments", roundTripper(func(*http.Request) (*http.Response, error) { panic("boom") })).RoundTrip(request(t, http.NoBody))
		_ = response.Body.Close()
	}()
	if n := a.Bulkhead("payments").InFlight(); n != 0 {
		t.Errorf("in flight %d", n)
	}
}

// A refusal is ours: nothing is sent, the request's body is closed, and http.Client
// passes the reason on.
func TestTransportRefusesBeforeAnythingIsSent(t *testing.T) {
	a := bare(t, one(time.Minute, bulkheadconfig.Cancel))
	a.Bulkhead("payments").TryAcquire()
	client := &http.Client{Transport: a.Transport("payments", roundTripper(func(*http.Request) (*http.Response, error) {
		t.Error("the request was sent")
		return nil, errors.New("sent")
	}))}
	sent := &closeCounter{Reader: strings.NewReader("order")}
	response, err := client.Do(request(t, sent))
	if err == nil {
		_ = response.Body.Close()
	}
	saturated, ok := errors.AsType[*limiter.SaturatedError](err)
	if !ok || saturated.Service != "payments" || sent.n == 0 {
		t.Errorf("error %v, request's body closed %d times; want saturated and closed", err, sent.n)
	}
}

type closeCounter struct {
	io.Reader
	n int
}

func (c *closeCounter) Close() error { c.n++; return nil }

// untilDone is a body that has nothing to read until the request's context ends.
type untilDone struct{ ctx context.Context }

func (b untilDone) Read([]byte) (int, error) { <-b.ctx.Done(); return 0, b.ctx.Err() }
func (untilDone) Close() error               { return nil }

func TestLapseEndsARequestAlsoWhileItsBodyIsRead(t *testing.T) {
	hang := map[string]roundTripper{
		"before the response": func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() },
		"in the body":         func(r *http.Request) (*http.Response, error) { return answer(untilDone{r.Context()})(r) },
	}
	for name, next := range hang {
		for _, onReclaim := range []bulkheadconfig.OnReclaim{bulkheadconfig.Cancel, bulkheadconfig.Release} {
			t.Run(fmt.Sprint(name, "/", onReclaim), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a := bare(t, one(8*time.Second, onReclaim))
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the client's own patience
					defer cancel()
					begin := time.Now()
					response, err := a.Transport("payments", next).RoundTrip(request(t, http.NoBody).WithContext(ctx))
					if err == nil {
						_, err = io.ReadAll(response.Body)
						_ = response.Body.Close()
					}
					took, reclaimed := time.Since(begin).Round(time.Second), errors.Is(err, limiter.ErrReclaimed)
					if want := onReclaim == bulkheadconfig.Cancel; reclaimed != want || (took == 8*time.Second) != want {
						t.Errorf("after %v: %v", took, err)
					}
					if c := a.Bulkhead("payments").Stats().Counts; c.Lapsed != 1 || c.LateReleases != 1 || c.StaleReleases != 0 {
						t.Errorf("counts %+v, want one lapse and one late release", c)
					}
				})
			})
		}
	}
}

// The same over a real connection.
func TestLapseEndsARealRequest(t *testing.T) {
	hangs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush() // the headers arrive, the body never does
		<-r.Context().Done()
	}))
	defer hangs.Close()
	a := bare(t, one(50*time.Millisecond, bulkheadconfig.Cancel))
	client := &http.Client{Transport: a.Transport("payments", hangs.Client().Transport)}
	response, err := client.Get(hangs.URL)
	must(t, err)
	defer response.Body.Close()
	if _, err := io.ReadAll(response.Body); !errors.Is(err, limiter.ErrReclaimed) {
		t.Errorf("read: %v, want reclaimed", err)
	}
}

// A response 101 is a connection: it stays an io.ReadWriteCloser, one direction may
// end before the other, and it is in flight until it is closed.
func TestTransportHoldsAnUpgradedConnectionUntilItIsClosed(t *testing.T) {
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(conn, buffered)
	}))
	defer echo.Close()
	a := bare(t, one(time.Minute, bulkheadconfig.Cancel))
	client := &http.Client{Transport: a.Transport("payments", echo.Client().Transport)}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, echo.URL, http.NoBody)
	must(t, err)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "echo")
	response, err := client.Do(r)
	must(t, err)
	defer response.Body.Close()
	conn, ok := response.Body.(interface {
		io.ReadWriteCloser
		CloseWrite() error
	})
	if !ok {
		t.Fatalf("the body of a 101 is a %T", response.Body)
	}
	_, err = io.WriteString(conn, "hello\n")
	must(t, err)
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "hello\n" {
		t.Errorf("echo %q, %v", line, err)
	}
	must(t, conn.CloseWrite())
	if _, err := io.ReadAll(conn); err != nil {
		t.Error(err)
	}
	if n := a.Bulkhead("payments").InFlight(); n != 1 {
		t.Errorf("in flight after the service stopped sending: %d, want 1", n)
	}
	must(t, conn.Close())
	if n := a.Bulkhead("payments").InFlight(); n != 0 {
		t.Errorf("in flight after Close: %d, want 0", n)
	}
}

func TestTransportPassesCloseIdleConnectionsOn(t *testing.T) {
	a := bare(t, nil)
	idle := &idleCounter{}
	client := &http.Client{Transport: a.Transport("payments", idle)}
	client.CloseIdleConnections()
	if idle.n != 1 {
		t.Errorf("closed idle connections %d times, want once", idle.n)
	}
	(&http.Client{Transport: a.Transport("payments", answer(http.NoBody))}).CloseIdleConnections()
}

type idleCounter struct {
	http.RoundTripper
	n int
}

func (c *idleCounter) CloseIdleConnections() { c.n++ }

// A body that is closed while it is read, by as many as like, ends its call once.
func TestBodyEndsItsCallOnce(t *testing.T) {
	a := bare(t, one(time.Minute, bulkheadconfig.Cancel))
	transport := a.Transport("payments", roundTripper(func(r *http.Request) (*http.Response, error) {
		return answer(io.NopCloser(strings.NewReader("paid")))(r)
	}))
	for range 200 {
		response, err := transport.RoundTrip(request(t, http.NoBody))
		must(t, err)
		var all sync.WaitGroup
		all.Go(func() { _, _ = io.ReadAll(response.Body) })
		for range 3 {
			all.Go(func() { _ = response.Body.Close() })
		}
		all.Wait()
	}
	if s := a.Bulkhead("payments").Stats(); s.InFlight != 0 || s.Counts.Admitted != 200 || s.Counts.StaleReleases != 0 {
		t.Errorf("in flight %d, counts %+v", s.InFlight, s.Counts)
	}
}

// http.Transport answers with the caller's request, whose context outlives the call.
func TestResponseHasTheCallersRequest(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "paid") }))
	defer server.Close()
	a := bare(t, one(time.Minute, bulkheadconfig.Cancel))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	must(t, err)
	response, err := a.Transport("payments", server.Client().Transport).RoundTrip(r)
	must(t, err)
	_, err = io.ReadAll(response.Body)
	must(t, errors.Join(err, response.Body.Close()))
	if response.Request != r || response.Request.Context().Err() != nil {
		t.Errorf("the caller's request: %t, its context after the call: %v", response.Request == r, response.Request.Context().Err())
	}
}

// A deadline that passes in line is a time-out for those who ask net.Error.
func TestDeadlineInLineIsATimeout(t *testing.T) {
	a := bare(t, map[string]bulkheadconfig.Service{"payments": {Limit: 1, MaxWait: time.Minute, ReclaimAfter: time.Hour}})
	a.Bulkhead("payments").TryAcquire()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	response, err := (&http.Client{Transport: a.Transport("payments", nil)}).Do(request(t, http.NoBody).WithContext(ctx))
	if err == nil {
		_ = response.Body.Close()
	}
	if failed, ok := errors.AsType[*url.Error](err); !ok || !failed.Timeout() || !os.IsTimeout(err) {
		t.Errorf("error %v, want a time-out", err)
	}
}
