// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Bare is a server that calls a service: what an application is before it has
// bulkheads.
package main

import (
	"io"
	"log"
	"net/http"
	"time"
)

func main() {
	client := &http.Client{}
	http.HandleFunc("/buy", func(w http.ResponseWriter, r *http.Request) {
		response, err := client.Get("http://payments.example/charge")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		_, _ = io.Copy(w, response.Body)
	})
	server := &http.Server{Addr: ":8080", ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(server.ListenAndServe())
}
