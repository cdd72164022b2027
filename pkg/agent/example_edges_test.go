// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"io"
	"log"
	"net/http"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
)

// Requests to a service, through its bulkhead. What comes back is an ordinary
// response; the slot is held until its body is closed.
func ExampleAgent_Transport() {
	a, err := agent.New("/etc/servicebulkhead")
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: a.Transport("payments", nil)}
	response, err := client.Get("http://payments.example/balance")
	if err != nil {
		log.Fatal(err) // errors.Is(err, limiter.ErrSaturated) tells our own backpressure from the service's failure
	}
	defer response.Body.Close()
	balance, err := io.ReadAll(response.Body)
	log.Print(string(balance), err)
}

// A server that serves so many reports at once, and the pages and probes of the
// agent, which pass the bulkhead by.
func ExampleAgent_Middleware() {
	a, err := agent.New("/etc/servicebulkhead")
	if err != nil {
		log.Fatal(err)
	}
	reports := http.FileServer(http.Dir("reports"))
	mux := http.NewServeMux()
	mux.Handle("/reports/", a.Middleware("reports", reports))
	mux.Handle("/readyz", a.ReadyHandler())
	mux.Handle("/livez", a.LiveHandler())
	mux.Handle("/debug/bulkheads", a.DebugHandler())
}
