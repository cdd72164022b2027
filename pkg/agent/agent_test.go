// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// volume is a ConfigMap volume as a kubelet lays it out: files are links through
// ..data, which is swapped by a rename.
type volume struct {
	t   *testing.T
	dir string
	n   int
}

func newVolume(t *testing.T) *volume { return &volume{t: t, dir: t.TempDir()} }

// publish swaps the volume to one that holds the text; an empty text means a
// ConfigMap without our key.
func (v *volume) publish(text string) {
	v.t.Helper()
	v.n++
	data := fmt.Sprintf("..generation-%d", v.n)
	must(v.t, os.Mkdir(filepath.Join(v.dir, data), 0o700))
	if text != "" {
		must(v.t, os.WriteFile(filepath.Join(v.dir, data, bulkheadconfig.Key), []byte(text), 0o600))
	}
	must(v.t, os.Symlink(data, filepath.Join(v.dir, "..data_tmp")))
	must(v.t, os.Rename(filepath.Join(v.dir, "..data_tmp"), filepath.Join(v.dir, dataLink)))
	if v.n == 1 {
		must(v.t, os.Symlink(filepath.Join(dataLink, bulkheadconfig.Key), filepath.Join(v.dir, bulkheadconfig.Key)))
	} else {
		must(v.t, os.RemoveAll(filepath.Join(v.dir, fmt.Sprintf("..generation-%d", v.n-1))))
	}
}

// document renders one service, payments, with that limit.
func document(t *testing.T, limit int) string {
	t.Helper()
	return render(t, map[string]bulkheadconfig.Service{"payments": {Limit: limit, ReclaimAfter: time.Minute}})
}

func render(t *testing.T, services map[string]bulkheadconfig.Service) string {
	t.Helper()
	text, err := bulkheadconfig.Encode(services)
	must(t, err)
	return string(text)
}

// news is a log handler that passes messages on as they come.
type news chan string

func newNews() news { return make(news, 1000) }

func (n news) Enabled(context.Context, slog.Level) bool { return true }
func (n news) WithAttrs([]slog.Attr) slog.Handler       { return n }
func (n news) WithGroup(string) slog.Handler            { return n }
func (n news) Handle(_ context.Context, r slog.Record) error {
	n <- r.Message
	return nil
}

// expect waits until the agent has logged the message.
func (n news) expect(t *testing.T, message string) {
	t.Helper()
	for deadline := time.After(30 * time.Second); ; {
		select {
		case got := <-n:
			if strings.HasPrefix(got, message) {
				return
			}
		case <-deadline:
			t.Fatalf("the agent never said %q", message)
		}
	}
}

// start runs an agent until the test ends.
func start(t *testing.T, dir string, options ...Option) (*Agent, news) {
	t.Helper()
	n := newNews()
	a, err := New(dir, append([]Option{WithLogger(slog.New(n)), WithLameDuck(0)}, options...)...)
	must(t, err)
	t.Cleanup(func() { _, _ = a.Shutdown(context.Background()) })
	return a, n
}

func limitOf(b *limiter.Bulkhead) int {
	n, limited := b.Limit()
	if !limited {
		return -1
	}
	return n
}

func TestNewNamesTheWrongOption(t *testing.T) {
	for want, option := range map[string]Option{
		"poll interval: 0s: must be positive":          WithPollInterval(0),
		"lame duck: -1ns: must not be negative":        WithLameDuck(-1),
		"drain time-out: -1ns: must not be negative":   WithDrainTimeout(-1),
		"close time-out: -1ns: must not be negative":   WithCloseTimeout(-1),
		"logger: must not be nil":                      WithLogger(nil),
		`defaults: services["x"].reclaimAfter: 0s: mu`: WithUnlisted(Defaults(map[string]bulkheadconfig.Service{"x": {}})),
	} {
		if _, err := New("somewhere", option); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := New(""); err == nil || !strings.Contains(err.Error(), "directory: required") {
		t.Errorf("got %v, want the directory to be required", err)
	}
}

func TestHandleIsStableAndFollowsTheDocument(t *testing.T) {
	v := newVolume(t)
	v.publish(document(t, 3))
	a, log := start(t, v.dir, WithPollInterval(time.Hour))
	payments := a.Bulkhead("payments")
	if n := limitOf(payments); n != 3 {
		t.Fatalf("limit when New has returned: %d, want 3", n)
	}
	permit, _ := payments.TryAcquire()
	log.expect(t, "bulkheads configured")
	v.publish(document(t, 7))
	log.expect(t, "bulkheads configured")
	if n := limitOf(payments); n != 7 || payments.InFlight() != 1 || a.Bulkhead("payments") != payments {
		t.Errorf("limit %d, in flight %d; want 7 and the call that was admitted before", n, payments.InFlight())
	}
	v.publish(render(t, nil))
	log.expect(t, "bulkheads configured")
	log.expect(t, "services left the document")
	if n := limitOf(payments); n != -1 {
		t.Errorf("limit after the service left the document: %d, want none", n)
	}
	if got := permit.Release(); got != limiter.Released {
		t.Errorf("release: %v", got)
	}
}

// O02, open-feature/flagd#42: a watch on the file itself is lost with the first
// swap. Polling is off, so that every swap has to be noticed.
func TestO02EverySwapIsApplied(t *testing.T) {
	v := newVolume(t)
	v.publish(document(t, 1))
	a, log := start(t, v.dir, WithPollInterval(time.Hour))
	log.expect(t, "bulkheads configured")
	for limit := 2; limit <= 4; limit++ {
		v.publish(document(t, limit))
		log.expect(t, "bulkheads configured")
		if n := limitOf(a.Bulkhead("payments")); n != limit {
			t.Errorf("limit %d, want %d", n, limit)
		}
	}
}

func TestDirectoryThatAppearsLaterIsFoundByPolling(t *testing.T) {
	v := newVolume(t)
	must(t, os.Remove(v.dir))
	a, log := start(t, v.dir, WithPollInterval(time.Millisecond))
	log.expect(t, "no document yet")
	must(t, os.Mkdir(v.dir, 0o700))
	v.publish(document(t, 5))
	log.expect(t, "bulkheads configured")
	if n := limitOf(a.Bulkhead("payments")); n != 5 {
		t.Errorf("limit %d, want 5", n)
	}
}

// quiet returns a source that is reloaded by hand, and the registry it feeds.
func quiet(dir string, unlisted Unlisted) (*source, *registry) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	r := newRegistry(settings{unlisted: unlisted, log: log})
	return &source{dir: dir, log: log, apply: r.apply}, r
}

// O04, prometheus-operator/prometheus-operator#4708: good, invalid, and the same
// good content again.
func TestO04ErrorIsClearedByTheOldContent(t *testing.T) {
	v := newVolume(t)
	s, r := quiet(v.dir, PassThrough())
	v.publish(document(t, 3))
	s.reload()
	applied := s.status
	v.publish(`{"revision":"x","services":{"payments":{"limit":-1,"reclaimAfter":"1m"}}}`)
	s.reload()
	if s.status.Err == nil || s.status.Failures != 1 || s.status.Revision != applied.Revision {
		t.Errorf("after invalid content: %+v", s.status)
	}
	if n := limitOf(r.bulkhead("payments")); n != 3 {
		t.Errorf("limit while the content is invalid: %d, want the last good one's 3", n)
	}
	v.publish(document(t, 3))
	s.reload()
	if s.status.Err != nil || s.status.Reloads != 1 || !s.status.LastGoodRead.After(applied.LastGoodRead) {
		t.Errorf("after the old content came back: %+v", s.status)
	}
}

// L16, argoproj/argo-workflows#16405: the source of limits fails while a slot is
// held; then it is released.
func TestL16FailingSourceKeepsLimitAndCapacity(t *testing.T) {
	v := newVolume(t)
	s, r := quiet(v.dir, Refuse())
	v.publish(document(t, 1))
	s.reload()
	permit, ok := r.bulkhead("payments").TryAcquire()
	must(t, os.RemoveAll(v.dir))
	s.reload()
	if got := permit.Release(); !ok || got != limiter.Released {
		t.Errorf("release while the source fails: %v", got)
	}
	if _, ok := r.bulkhead("payments").TryAcquire(); !ok || limitOf(r.bulkhead("payments")) != 1 {
		t.Errorf("admitted %t at a limit of %d, want the last good limit and its capacity", ok, limitOf(r.bulkhead("payments")))
	}
}

// O06, kubernetes-sigs/controller-runtime#1719: files that go away and come back.
func TestO06FilesGoneKeepTheLastGoodDocument(t *testing.T) {
	v := newVolume(t)
	s, r := quiet(v.dir, Refuse())
	v.publish(document(t, 3))
	s.reload()
	for name, loss := range map[string]func(){
		"the key is gone":       func() { v.publish("") },
		"the file is empty":     func() { v.publish(" ") },
		"the file is cut off":   func() { v.publish(document(t, 9)[:40]) },
		"the directory is gone": func() { must(t, os.RemoveAll(v.dir)) },
	} {
		loss()
		s.reload()
		if s.status.Err == nil || limitOf(r.bulkhead("payments")) != 3 {
			t.Errorf("%s: error %v, limit %d; want an error and 3", name, s.status.Err, limitOf(r.bulkhead("payments")))
		}
		must(t, os.MkdirAll(v.dir, 0o700))
	}
	v.n = 0
	must(t, os.RemoveAll(v.dir))
	must(t, os.Mkdir(v.dir, 0o700))
	v.publish(document(t, 4))
	s.reload()
	if n := limitOf(r.bulkhead("payments")); n != 4 || s.status.Err != nil {
		t.Errorf("after the files came back: limit %d, error %v; want 4", n, s.status.Err)
	}
}

func TestUnlistedServices(t *testing.T) {
	defaults := map[string]bulkheadconfig.Service{"search": {Limit: 9, ReclaimAfter: time.Second}}
	for name, c := range map[string]struct {
		unlisted Unlisted
		search   int
		other    error
	}{
		"pass through": {PassThrough(), -1, nil},
		"refuse":       {Refuse(), 0, limiter.ErrRefused},
		"defaults":     {Defaults(defaults), 9, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVolume(t)
			s, r := quiet(v.dir, c.unlisted)
			check := func(when string) {
				if n := limitOf(r.bulkhead("search")); n != c.search {
					t.Errorf("%s: limit %d, want %d", when, n, c.search)
				}
				if err := r.bulkhead("other").Do(t.Context(), func(context.Context) error { return nil }); !errors.Is(err, c.other) {
					t.Errorf("%s: %v, want %v", when, err, c.other)
				}
			}
			s.reload()
			check("before the first document")
			v.publish(render(t, map[string]bulkheadconfig.Service{"search": {Limit: 2, ReclaimAfter: time.Minute}}))
			s.reload()
			if n := limitOf(r.bulkhead("search")); n != 2 {
				t.Errorf("listed: limit %d, want 2", n)
			}
			v.publish(document(t, 1))
			s.reload()
			check("after it left the document")
		})
	}
}

func TestReloadOfEqualValuesTouchesNothing(t *testing.T) {
	v := newVolume(t)
	s, r := quiet(v.dir, PassThrough())
	v.publish(document(t, 3))
	s.reload()
	v.publish(strings.ReplaceAll(document(t, 3), "1m", "60s"))
	s.reload()
	if n := limitOf(r.bulkhead("payments")); n != 3 || s.status.Reloads != 2 {
		t.Errorf("limit %d, reloads %d; want 3 and 2", n, s.status.Reloads)
	}
}

// M5, cyanheads/mcp-ts-core#114: names without end must not grow anything.
func TestM5UnlistedNamesAreBounded(t *testing.T) {
	a, log := start(t, t.TempDir(), WithPollInterval(time.Hour))
	for i := range 100_000 {
		a.Bulkhead(fmt.Sprint("user-", i))
	}
	if n := len(a.Services()); n != maxUnlisted+1 {
		t.Errorf("%d bulkheads, want %d and one for the rest", n, maxUnlisted)
	}
	if a.Bulkhead("one-more") != a.Bulkhead("another") || a.Bulkhead("one-more").Name() != Overflow {
		t.Error("names beyond the bound do not share one bulkhead")
	}
	warnings := 0
	for range len(log) {
		if strings.HasPrefix(<-log, "too many services") {
			warnings++
		}
	}
	if warnings != 1 {
		t.Errorf("%d warnings, want 1", warnings)
	}
}

func TestReset(t *testing.T) {
	a, _ := start(t, t.TempDir())
	if err := a.Reset("payments"); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown service: %v, want not found", err)
	}
	permit, _ := a.Bulkhead("payments").TryAcquire()
	must(t, a.Reset("payments"))
	if got := permit.Release(); got != limiter.Stale {
		t.Errorf("release after Reset: %v, want stale", got)
	}
	permit, _ = a.Bulkhead("payments").TryAcquire()
	a.ResetAll()
	if got := permit.Release(); got != limiter.Stale {
		t.Errorf("release after ResetAll: %v, want stale", got)
	}
}

func TestHooksReachEveryBulkheadAndSurviveReloads(t *testing.T) {
	var rejected []string
	v := newVolume(t)
	v.publish(document(t, 0))
	a, log := start(t, v.dir, WithUnlisted(Refuse()), WithPollInterval(time.Hour), WithHooks(limiter.Hooks{
		Rejected: func(service string, _ error) { rejected = append(rejected, service) },
	}))
	log.expect(t, "bulkheads configured")
	a.Bulkhead("payments").TryAcquire()
	a.Bulkhead("unlisted").TryAcquire()
	v.publish(render(t, map[string]bulkheadconfig.Service{"payments": {ReclaimAfter: time.Second}}))
	log.expect(t, "bulkheads configured")
	a.Bulkhead("payments").TryAcquire()
	if want := []string{"payments", "unlisted", "payments"}; !slices.Equal(rejected, want) {
		t.Errorf("rejected %q, want %q", rejected, want)
	}
}

func TestUnknownFieldsAreReadPastAndReported(t *testing.T) {
	v := newVolume(t)
	s, r := quiet(v.dir, PassThrough())
	var doc map[string]any
	must(t, json.Unmarshal([]byte(document(t, 3)), &doc))
	doc["weights"] = map[string]int{"payments": 2}
	text, err := json.Marshal(doc)
	must(t, err)
	v.publish(string(text))
	s.reload()
	if len(s.status.Unknown) != 1 || s.status.Unknown[0] != "weights" || limitOf(r.bulkhead("payments")) != 3 {
		t.Errorf("unknown %q, limit %d; want weights and 3", s.status.Unknown, limitOf(r.bulkhead("payments")))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
