// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import "net/http"

// ReadyHandler answers 200 while the process is ready and 503 from the moment
// that Shutdown begins. It is meant for a readiness probe; a liveness probe
// should not depend on it, or a draining pod is restarted. A missing or broken
// document does not matter to it: the process serves with what is in force.
func (a *Agent) ReadyHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !a.Ready() {
			http.Error(w, "draining", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
}

// LiveHandler answers 200 for as long as the process can answer at all. It is meant
// for a liveness probe, which should depend on nothing else: a process whose
// bulkheads are full, or that drains, is not cured by a restart.
func (a *Agent) LiveHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
}
