// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Bulkheads is the same server as bare with all that the agent has to offer.
package main

import (
	"context"
	"io"
	"log"
	"net/http"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
)

func main() {
	a, err := agent.New("/etc/servicebulkhead")
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: a.Transport("payments", nil)}
	http.Handle("/buy", a.Middleware("inbound", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response, err := client.Get("http://payments.example/charge")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		_, _ = io.Copy(w, response.Body)
	})))
	http.Handle("/debug/bulkheads", a.DebugHandler())
	http.Handle("/readyz", a.ReadyHandler())
	http.Handle("/livez", a.LiveHandler())
	server := &http.Server{Addr: ":8080", ReadHeaderTimeout: 5 * time.Second}
	a.OnStop("http server", server.Shutdown)
	go func() { log.Print(server.ListenAndServe()) }()
	log.Print(a.ShutdownOnSignal(context.Background()))
}
