// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// ask asks the debug handler and returns its answer.
func ask(t *testing.T, a *Agent, target string, accept ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, target, http.NoBody)
	r.Header["Accept"] = accept
	w := httptest.NewRecorder()
	a.DebugHandler().ServeHTTP(w, r)
	return w
}

// words is the page as a text browser shows it; the page has to be well-formed.
func words(t *testing.T, html string) string {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(html))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var all []string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return strings.Join(strings.Fields(strings.Join(all, " ")), " ")
		}
		must(t, err)
		switch token := token.(type) {
		case xml.CharData:
			all = append(all, string(token))
		case xml.StartElement:
			if token.Name.Local == "style" {
				must(t, decoder.Skip())
			}
		}
	}
}

func expect(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the page does not say %q:\n%s", w, text)
		}
	}
}

// busyAgent has a service in each of the states that the page tells apart.
func busyAgent(t *testing.T) *Agent {
	t.Helper()
	a := bare(t, map[string]bulkheadconfig.Service{
		"payments": {Limit: 4, MaxWait: time.Second, ReclaimAfter: 30 * time.Second},
		"mail":     {Limit: 2, ReclaimAfter: time.Hour, Queue: &bulkheadconfig.Queue{Capacity: 8}},
		"search":   {Limit: 1, ReclaimAfter: time.Hour, Enforcement: bulkheadconfig.Shadow},
		"off":      {ReclaimAfter: time.Hour},
	}, WithLameDuck(0), WithDrainTimeout(0))
	for range 2 {
		a.Bulkhead("payments").TryAcquire()
	}
	time.Sleep(31 * time.Second) // both lapse
	synctest.Wait()
	for range 3 {
		a.Bulkhead("payments").TryAcquire()
		a.Bulkhead("search").TryAcquire()
	}
	a.Bulkhead("off").TryAcquire()
	a.Bulkhead("stray").TryAcquire()
	mails := limiter.NewReducer[int](a.Bulkhead("mail"))
	for range 5 {
		mails.Submit(t.Context(), func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
	}
	synctest.Wait()
	return a
}

func TestPageShowsWhatTheBulkheadsDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := busyAgent(t)
		w := ask(t, a, "/debug/bulkheads?refresh=5", "text/html,application/xhtml+xml,application/json;q=0.9")
		html := w.Body.String()
		text := words(t, html)
		expect(t, text,
			"Bulkheads serving", "Document in force: none", "cannot be watched: changes are found by polling",
			"mail 2 of 2 0 for 0s 2 0 0, 0 after 1h0m0s 3 of 8 2 run",
			"off 0 of 0 0 for 0s 0 1 1 saturated", "Limit 0: the kill switch",
			"payments 3 of 4 0 for 1s 5 0 2, 0 after 30s none",
			"Lapsed: 2 calls held a slot for the whole window of 30s", "Overdue: 2 calls running on without a slot",
			"search Shadow 1 of 1 + 2 above", "Enforced, this limit would have made wait or shed: 2 calls.",
			"stray PassThrough 1, no limit", "No ServiceBulkhead lists it: calls go through without a limit.")
		expect(t, html, `style="width: 75%"`, `<meta http-equiv="refresh" content="5">`)
		for _, foreign := range []string{"<script", "src=", "http:", "https:", "@import", "url("} {
			if strings.Contains(html, foreign) {
				t.Errorf("the page is not self-contained: %s", foreign)
			}
		}
		if _, err := a.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		expect(t, words(t, ask(t, a, "/").Body.String()), "Bulkheads drained", "New calls are refused: draining.")
		a.ResetAll()
	})
}

func TestPageAsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := busyAgent(t)
		for _, w := range []*httptest.ResponseRecorder{
			ask(t, a, "/debug/bulkheads?format=json", "text/html"), ask(t, a, "/debug/bulkheads", "application/json"),
		} {
			if got := w.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("content type %s", got)
			}
			var o overview
			must(t, json.Unmarshal(w.Body.Bytes(), &o))
			names := make([]string, len(o.Services))
			for i, s := range o.Services {
				names[i] = s.Name
			}
			if want := []string{"mail", "off", "payments", "search", "stray"}; !slices.Equal(names, want) || o.State != "serving" {
				t.Fatalf("state %s, services %q, want %q", o.State, names, want)
			}
			mail, payments, search, stray := o.Services[0], o.Services[2], o.Services[3], o.Services[4]
			if *mail.Tasks != (tasksOverview{Active: 2, Queued: 3, Capacity: 8}) {
				t.Errorf("mail's tasks %+v", *mail.Tasks)
			}
			if *payments.Limit != 4 || payments.InFlight != 3 || payments.Overdue != 2 || payments.Counts.Lapsed != 2 || payments.MaxWait != "1s" {
				t.Errorf("payments %+v", payments)
			}
			if search.Mode != "Shadow" || search.Counts.Shadowed != 2 || search.Unlimited != 2 || !search.Listed {
				t.Errorf("search %+v", search)
			}
			if stray.Limit != nil || stray.Listed || stray.Unlimited != 1 {
				t.Errorf("stray %+v", stray)
			}
		}
		if w := ask(t, a, "/?format=html", "application/json"); !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			t.Error("format=html is not heeded")
		}
		_, _ = a.Shutdown(t.Context())
		a.ResetAll()
	})
}

// Names and errors come from outside; nothing of them becomes markup.
func TestPageEscapesWhatItShows(t *testing.T) {
	const evil = `<script>alert("x")</script>`
	a := bare(t, nil)
	a.source.dir = evil
	a.source.status = SourceStatus{Err: errors.New(evil), Revision: evil, Unknown: []string{evil}, Applied: time.Now(), LastGoodRead: time.Now(), LastRead: time.Now()}
	a.Bulkhead(evil)
	html := ask(t, a, "/").Body.String()
	if strings.Contains(html, "<script") {
		t.Errorf("markup came through:\n%s", html)
	}
	if n := strings.Count(words(t, html), evil); n != 5 {
		t.Errorf("shown %d times as text, want the directory, revision, error, field and name", n)
	}
}

func TestPageTellsHowTheSourceIs(t *testing.T) {
	v := newVolume(t)
	v.publish(document(t, 3))
	a, log := start(t, v.dir, WithPollInterval(time.Hour))
	log.expect(t, "bulkheads configured")
	revision := a.Source().Revision
	expect(t, words(t, ask(t, a, "/").Body.String()), "Document in force: "+revision+", applied under 1 s ago", "payments 0 of 3")
	v.publish(`{"revision": "x"`)
	log.expect(t, "document not usable")
	text := words(t, ask(t, a, "/").Body.String())
	expect(t, text, "The last read found no good document, so what is in force stays in force: document is not JSON", revision)
	if strings.Contains(text, "subPath") || strings.Contains(text, "polling") {
		t.Errorf("a watched volume is said to be neither updated nor watched:\n%s", text)
	}
}

func TestPageOfAPlainDirectory(t *testing.T) {
	text := words(t, func() string {
		a := bare(t, nil)
		a.source.status = SourceStatus{Revision: "x", Applied: time.Now().Add(-3 * time.Minute), LastGoodRead: time.Now().Add(-72 * time.Hour), LastRead: time.Now(), Watched: true}
		return ask(t, a, "/").Body.String()
	}())
	expect(t, text, "x, applied 3 min ago, last read well 3 days ago", "mount the whole ConfigMap, not by subPath", "No service has been asked for")
}

func TestPageIsReadOnly(t *testing.T) {
	w := httptest.NewRecorder()
	bare(t, nil).DebugHandler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", http.NoBody))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d, %v", w.Code, w.Header())
	}
}

func TestOverviewTellsOfTasksWithoutAQueue(t *testing.T) {
	a := bare(t, one(time.Minute, bulkheadconfig.Cancel))
	future := limiter.NewReducer[int](a.Bulkhead("payments")).Submit(t.Context(), func(context.Context) (int, error) { return 0, errors.New("failed") })
	_, _ = future.Wait(t.Context())
	if s := a.overview(time.Now()).Services[0]; s.Tasks == nil || s.Tasks.Failures != 1 {
		t.Errorf("tasks %+v, want one failure", s.Tasks)
	}
}

// A read may come between the moment an overview begins and its look at the source.
func TestAgesAreNotNegative(t *testing.T) {
	now := time.Now()
	if _, age := moment(now.Add(time.Second), now); *age != 0 {
		t.Errorf("age %v", *age)
	}
}
