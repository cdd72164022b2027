// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// serve runs a server with one handler behind the bulkhead "payments".
func serve(t *testing.T, a *Agent, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(a.Middleware("payments", handler))
	t.Cleanup(server.Close)
	return server
}

// M1, constructorfabric/gears-rust#4880: a permit that is released when the response
// begins is no limit for a handler that streams, nor for the client that reads.
func TestM1AStreamIsInFlightThroughout(t *testing.T) {
	a := bare(t, map[string]bulkheadconfig.Service{
		"payments": {Limit: 2, ReclaimAfter: time.Minute}, "upstream": {Limit: 2, ReclaimAfter: time.Minute},
	})
	const ticks = 20
	server := serve(t, a, func(w http.ResponseWriter, _ *http.Request) {
		tick := time.NewTicker(time.Second / ticks)
		defer tick.Stop()
		for range ticks {
			<-tick.C
			_, _ = io.WriteString(w, "tick\n")
			_ = http.NewResponseController(w).Flush()
		}
	})
	client := &http.Client{Transport: a.Transport("upstream", server.Client().Transport)}
	begin := time.Now()
	response, err := client.Get(server.URL)
	must(t, err)
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for i := range ticks {
		if handler, reader := a.Bulkhead("payments").InFlight(), a.Bulkhead("upstream").InFlight(); handler != 1 || reader != 1 {
			t.Fatalf("after %d ticks: the handler counts %d, the reader %d; want 1 and 1", i, handler, reader)
		}
		if !lines.Scan() {
			t.Fatal("the stream ends early:", lines.Err())
		}
	}
	if lines.Scan() || time.Since(begin) < time.Second {
		t.Errorf("streamed for %v, more lines: %t", time.Since(begin), lines.Err() == nil)
	}
	idle(t, a.Bulkhead("payments"))
	idle(t, a.Bulkhead("upstream"))
}

// idle waits until no call is in flight; a handler returns a moment after its
// client has read all.
func idle(t *testing.T, b *limiter.Bulkhead) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); b.InFlight() > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%s: %d calls are still in flight", b.Name(), b.InFlight())
		}
	}
}

// M3, golang/go#17721: http.Server.Shutdown forgets hijacked connections. Here a
// drain waits for one, and counts it if it stays.
func TestM3DrainCountsAHijackedConnection(t *testing.T) {
	for name, closes := range map[string]bool{"closed in time": true, "stays open": false} {
		t.Run(name, func(t *testing.T) {
			a := bare(t, one(time.Hour, bulkheadconfig.Cancel), WithLameDuck(0), WithDrainTimeout(200*time.Millisecond))
			if closes {
				a.drain.settings.drainTimeout = time.Minute
			}
			hijacked := make(chan net.Conn, 1)
			server := serve(t, a, func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
				hijacked <- conn // the handler returns, the connection stays
			})
			a.OnStop("http server", server.Config.Shutdown)
			conn := dial(t, server)
			defer conn.Close()
			held := <-hijacked
			defer held.Close()
			if stopped := serverStopped(a); closes {
				go func() { <-stopped; _ = held.Close() }()
			}
			report := shutdownOnSigterm(t, a)
			finished, remaining := 0, 1
			if closes {
				finished, remaining = 1, 0
			}
			if report.Finished() != finished || report.Remaining() != remaining {
				t.Errorf("%v\nwant %d finished and %d to remain", report, finished, remaining)
			}
		})
	}
}

// serverStopped is closed once the drain has told the producers to stop.
func serverStopped(a *Agent) <-chan struct{} {
	stopped := make(chan struct{})
	a.OnStop("the test", func(context.Context) error { close(stopped); return nil })
	return stopped
}

// dial opens a connection and upgrades it.
func dial(t *testing.T, server *httptest.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	must(t, err)
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	must(t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("status %s", response.Status)
	}
	return conn
}

// shutdownOnSigterm sends this process a SIGTERM and returns the drain's report.
func shutdownOnSigterm(t *testing.T, a *Agent) Report {
	t.Helper()
	// Listening here as well keeps the signal from ending this process.
	mine := make(chan os.Signal, 1)
	signal.Notify(mine, syscall.SIGTERM)
	defer signal.Stop(mine)
	done := make(chan Report, 1)
	go func() {
		report, err := a.ShutdownOnSignal(t.Context())
		if err != nil {
			t.Error(err)
		}
		done <- report
	}()
	for a.Ready() {
		must(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
		<-mine
		// A signal that came before ShutdownOnSignal listened is lost, and a second
		// one would cut the drain short: look for a while before sending again.
		for deadline := time.Now().Add(time.Second); a.Ready() && time.Now().Before(deadline); {
			runtime.Gosched()
		}
	}
	return <-done
}

func TestMiddlewareReleasesOnPanic(t *testing.T) {
	a := bare(t, one(time.Minute, bulkheadconfig.Cancel))
	server := serve(t, a, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for range 3 {
		if response, err := server.Client().Get(server.URL); err == nil {
			_ = response.Body.Close()
			t.Error("an aborted response arrived")
		}
	}
	idle(t, a.Bulkhead("payments"))
	// net/http may send a request again whose connection broke before an answer.
	if c := a.Bulkhead("payments").Stats().Counts; c.Admitted < 3 || c.Saturated > 0 {
		t.Errorf("counts %+v, want every request admitted", c)
	}
}

func TestMiddlewareExplainsItsRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		prepare           func(*limiter.Bulkhead)
		reason, connClose string
	}{
		"saturated": {func(b *limiter.Bulkhead) { b.TryAcquire() }, "saturated", ""},
		"draining":  {func(b *limiter.Bulkhead) { b.StopAdmission() }, "draining", "close"},
		"closed":    {func(b *limiter.Bulkhead) { b.Close() }, "closed", ""},
		"refused":   {func(b *limiter.Bulkhead) { must(t, b.Configure(1, time.Minute, limiter.WithMode(limiter.Refuse))) }, "refused", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := bare(t, one(time.Minute, bulkheadconfig.Cancel))
			c.prepare(a.Bulkhead("payments"))
			w := httptest.NewRecorder()
			a.Middleware("payments", nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
			h := w.Header()
			if w.Code != http.StatusServiceUnavailable || h.Get("Content-Type") != "application/problem+json" ||
				h.Get("Connection") != c.connClose || h.Get("Retry-After") != "" {
				t.Errorf("status %d, headers %v", w.Code, h)
			}
			var p problem
			must(t, json.Unmarshal(w.Body.Bytes(), &p))
			if p.Reason != c.reason || p.Bulkhead != "payments" || p.Status != w.Code || p.Title != "Service Unavailable" || p.Detail == "" {
				t.Errorf("problem %+v", p)
			}
		})
	}
}

func TestRetryAfterIsSetWhenItIsKnown(t *testing.T) {
	w := httptest.NewRecorder()
	refuse(w, "payments", &limiter.SaturatedError{RetryAfter: 1200 * time.Millisecond})
	if got := w.Header().Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After %q, want 2", got)
	}
}

func TestMiddlewareEndsTheContextOfALapsedRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := bare(t, one(8*time.Second, bulkheadconfig.Cancel))
		handler := a.Middleware("payments", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			if cause := context.Cause(r.Context()); !errors.Is(cause, limiter.ErrReclaimed) {
				t.Errorf("cause %v, want reclaimed", cause)
			}
		}))
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody).WithContext(t.Context()))
		if c := a.Bulkhead("payments").Stats().Counts; c.LateReleases != 1 {
			t.Errorf("counts %+v", c)
		}
	})
}

// What a handler may do with a server's response writer it may do behind a bulkhead.
func TestResponseWriterCanDoWhatItCould(t *testing.T) {
	a := bare(t, one(time.Minute, bulkheadconfig.Cancel))
	handler := a.Middleware("payments", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		controller := http.NewResponseController(w)
		must(t, errors.Join(controller.SetReadDeadline(time.Time{}), controller.SetWriteDeadline(time.Time{}), controller.EnableFullDuplex()))
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		} else {
			t.Error(r.Proto, "no Flusher")
		}
		must(t, controller.Flush())
		_, isReaderFrom := w.(io.ReaderFrom)
		_, isHijacker := w.(http.Hijacker)
		_, isPusher := w.(http.Pusher)
		if http1 := r.ProtoMajor == 1; isReaderFrom != http1 || isHijacker != http1 || isPusher == http1 {
			t.Errorf("%s: ReaderFrom %t, Hijacker %t, Pusher %t", r.Proto, isReaderFrom, isHijacker, isPusher)
		}
		_, err := io.WriteString(w, "a")
		must(t, err)
		_, err = io.Copy(w, strings.NewReader("b"))
		must(t, err)
	}))
	for _, http2 := range []bool{false, true} {
		server := httptest.NewUnstartedServer(handler)
		server.EnableHTTP2 = http2
		server.StartTLS()
		response, err := server.Client().Get(server.URL)
		must(t, err)
		text, err := io.ReadAll(response.Body)
		must(t, errors.Join(err, response.Body.Close()))
		if string(text) != "ab" || (response.ProtoMajor == 2) != http2 {
			t.Errorf("%s: got %q", response.Proto, text)
		}
		server.Close()
	}
}

// unwrapper is the response writer of somebody else's middleware.
type unwrapper struct{ inner http.ResponseWriter }

func (u unwrapper) Header() http.Header         { return u.inner.Header() }
func (u unwrapper) Write(p []byte) (int, error) { return u.inner.Write(p) }
func (u unwrapper) WriteHeader(status int)      { u.inner.WriteHeader(status) }
func (u unwrapper) Unwrap() http.ResponseWriter { return u.inner }

func TestHijackThroughAnotherMiddlewareIsCounted(t *testing.T) {
	a := bare(t, one(time.Minute, bulkheadconfig.Cancel))
	hijacked := make(chan net.Conn, 1)
	ours := a.Middleware("payments", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		hijacked <- conn
	}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { ours.ServeHTTP(unwrapper{w}, r) }))
	defer server.Close()
	conn := dial(t, server)
	defer conn.Close()
	held := <-hijacked
	if n := a.Bulkhead("payments").InFlight(); n != 1 {
		t.Errorf("in flight %d, want the connection", n)
	}
	if _, err := io.Copy(held, strings.NewReader("hello")); err != nil {
		t.Error(err)
	}
	must(t, held.Close())
	if text, err := io.ReadAll(conn); err != nil || string(text) != "hello" {
		t.Errorf("read %q, %v", text, err)
	}
	idle(t, a.Bulkhead("payments"))
}

// A server removes the files of an upload when its request is over, if it sees them.
func TestFilesOfAFormAreRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	a := bare(t, one(time.Minute, bulkheadconfig.Cancel))
	server := serve(t, a, func(_ http.ResponseWriter, r *http.Request) { must(t, r.ParseMultipartForm(0)) })
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	file, err := form.CreateFormFile("file", "name")
	must(t, err)
	_, err = file.Write(make([]byte, 11<<20)) // multipart keeps 10 MiB in memory
	must(t, errors.Join(err, form.Close()))
	response, err := server.Client().Post(server.URL, form.FormDataContentType(), &body)
	must(t, err)
	must(t, response.Body.Close())
	server.Close() // waits for the end of the request
	left, err := os.ReadDir(dir)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestThePatternIsSeenOutside(t *testing.T) {
	a := bare(t, one(time.Minute, bulkheadconfig.Cancel))
	mux := http.NewServeMux()
	mux.HandleFunc("/reports/{id}", func(http.ResponseWriter, *http.Request) {})
	r := httptest.NewRequest(http.MethodGet, "/reports/1", http.NoBody)
	a.Middleware("payments", mux).ServeHTTP(httptest.NewRecorder(), r)
	if r.Pattern != "/reports/{id}" {
		t.Errorf("pattern %q", r.Pattern)
	}
}

// A refusal is not the answer whose headers somebody outside has set.
func TestRefusalHasALengthOfItsOwn(t *testing.T) {
	a := bare(t, one(time.Minute, bulkheadconfig.Cancel))
	a.Bulkhead("payments").TryAcquire()
	w := httptest.NewRecorder()
	w.Header().Set("Content-Length", "3")
	w.Header().Set("ETag", `"x"`)
	a.Middleware("payments", nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if h := w.Header(); h.Get("Content-Length") != "" || h.Get("ETag") != "" {
		t.Errorf("headers %v", h)
	}
}
