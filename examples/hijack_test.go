// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// M3, golang/go#17721: SIGTERM with one hijacked connection, which
// http.Server.Shutdown forgets. The drain waits for it, serves it as long, and
// counts it.
func TestM3DrainCountsAHijackedConnection(t *testing.T) {
	for _, c := range []struct {
		name         string
		drainTimeout time.Duration
		closes       bool
		code         int
	}{
		{"closed in time", 20 * time.Second, true, 0},
		{"stays open", time.Second, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := httpserver()
			p := e.start(t, e.upstream(t, newUpstream()), 100*time.Millisecond, c.drainTimeout)
			conn := upgrade(t, p)
			conn.expectEcho(t, "before")

			p.terminate(t)
			eventually(t, "no connection accepted any more", func() bool { return !p.listens() })
			if c.closes {
				conn.expectEcho(t, "while the drain waits")
				must(t, conn.Close())
			}
			code, took := p.awaitExit(t)
			r := p.report(t)
			r.checkTimes(t, took)
			finished, remaining := 0, 1
			if c.closes {
				finished, remaining = 1, 0
			}
			_, named := r.ages["connections"]
			if r.finished != finished || r.remaining != remaining || named == c.closes || code != c.code {
				t.Errorf("exit code %d, want %d; want %d finished and %d to remain", code, c.code, finished, remaining)
			}
		})
	}
}

// upgraded is a connection that is no longer HTTP.
type upgraded struct {
	net.Conn
	received *bufio.Reader
}

func upgrade(t *testing.T, p *program) upgraded {
	t.Helper()
	conn, err := net.Dial("tcp", p.address)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "GET /echo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	must(t, err)
	received := bufio.NewReader(conn)
	response, err := http.ReadResponse(received, nil)
	must(t, err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(response.Status)
	}
	return upgraded{conn, received}
}

func (u upgraded) expectEcho(t *testing.T, text string) {
	t.Helper()
	must(t, u.SetDeadline(time.Now().Add(grace)))
	_, err := io.WriteString(u.Conn, text+"\n")
	must(t, err)
	if got, err := u.received.ReadString('\n'); got != text+"\n" {
		t.Errorf("echo of %q: %q, %v", text, got, err)
	}
}
