// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/words"
	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// One call is shed, one sells, one hangs when the drain begins, whose time-out is 0.
func TestTheReportSaysWhatTheDrainDid(t *testing.T) {
	s, a := openShop(t, time.Minute, func(http.ResponseWriter, *http.Request) {})
	ask(t, s, "/buy")
	permit, ok := s.payments.TryAcquire()
	if !ok {
		t.Fatal("no slot is free")
	}
	defer permit.Release()
	ask(t, s, "/buy")
	drained, err := a.Shutdown(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(file, []byte(strings.Repeat("longer than the report, and older ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := newReport(drained, a.Services()).writeTo(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if d := got.Drain; d.Remaining != 1 || d.Finished != 0 || d.TotalSeconds != drained.Total().Seconds() {
		t.Errorf("drain: %+v", d)
	}
	if want := (words.Service{Counts: words.Counts{Admitted: 2, Saturated: 1}, Remaining: 1}); got.Services["payments"] != want {
		t.Errorf("payments: %+v, want %+v", got.Services["payments"], want)
	}
	if want := (words.Service{Counts: words.Counts{Admitted: 2}}); got.Services["requests"] != want {
		t.Errorf("requests: %+v, want %+v", got.Services["requests"], want)
	}
}

// Whoever reads the report in a pod's status knows these names.
func TestTheReportsNames(t *testing.T) {
	d := agent.Report{
		LameDuck: 3 * time.Second, Producers: time.Second, Running: 2 * time.Second, Dependencies: time.Second / 2, Closed: 1,
		Services: []agent.ServiceReport{{Service: "payments", LetGo: 4, Finished: 5, Remaining: make([]limiter.Running, 6)}},
	}
	services := []agent.Service{{Stats: limiter.Stats{Name: "payments", Counts: limiter.Counts{
		Admitted: 7, Saturated: 8, Draining: 9, Cancelled: 10, Waited: 11, Lapsed: 12, LateReleases: 13,
	}}}}
	text, err := json.Marshal(newReport(d, services))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"drain":{"lameDuckSeconds":3,"producersSeconds":1,"runningSeconds":2,"dependenciesSeconds":0.5,"totalSeconds":6.5,` +
		`"letGo":4,"finished":5,"remaining":6,"closed":1},"services":{"payments":{"admitted":7,"saturated":8,"draining":9,"cancelled":10,` +
		`"waited":11,"lapsed":12,"lateReleases":13,"letGo":4,"finished":5,"remaining":6}}}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestAReportThatCannotBeWrittenIsAnError(t *testing.T) {
	if err := (report{}).writeTo(t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), "write report: ") {
		t.Errorf("error: %v", err)
	}
}
