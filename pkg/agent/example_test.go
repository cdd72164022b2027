// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"database/sql"
	"log"
	"net/http"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// The whole life of a server: its bulkheads, and its drain. main ends with
// ShutdownOnSignal.
func Example() {
	a, err := agent.New("/etc/servicebulkhead")
	if err != nil {
		log.Fatal(err)
	}
	var db *sql.DB // opened earlier
	if err := a.CloseOnShutdown("database", db); err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/readyz", a.ReadyHandler())
	server := &http.Server{Addr: ":8080", Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	a.OnStop("http server", server.Shutdown)
	go func() { log.Print(server.ListenAndServe()) }()

	report, err := a.ShutdownOnSignal(context.Background())
	log.Print(report, err)
}

// Bulkheads that hold until the first document arrives, and for services that it
// does not list.
func ExampleDefaults() {
	a, err := agent.New("/etc/servicebulkhead", agent.WithUnlisted(agent.Defaults(map[string]bulkheadconfig.Service{
		"payments": {Limit: 10, MaxWait: 50 * time.Millisecond, ReclaimAfter: 30 * time.Second},
	})))
	if err != nil {
		log.Fatal(err)
	}
	payments := a.Bulkhead("payments")
	log.Print(payments.InFlight())
}
