// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import "net/http"

// ReadyHandler answers 200 while the process is ready and 503 from the moment
// that Shutdown begins. It is meant for a readiness probe; a liveness probe
// should not depend on it, or a draining pod is restarted.
func (a *Agent) ReadyHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !a.Ready() {
			http.Error(w, "draining", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
}
