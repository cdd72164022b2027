// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/load"
	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/agent/agentprom"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// shop is the application.
type shop struct {
	agent     *agent.Agent
	payments  *limiter.Bulkhead // the same one for ever; follows every change
	client    *http.Client
	chargeURL string
	pod       string // the name of the pod that it runs in, if it runs in one
}

func newShop(a *agent.Agent, paymentsURL, pod string) *shop {
	// How many connections there are is the bulkhead's to say: keep those it allows.
	transport := &http.Transport{MaxIdleConnsPerHost: 1024}
	return &shop{
		agent: a, payments: a.Bulkhead("payments"),
		client: &http.Client{Transport: transport}, chargeURL: paymentsURL + "/charge", pod: pod,
	}
}

func (s *shop) routes() http.Handler {
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(agentprom.NewCollector(s.agent))
	mux := http.NewServeMux()
	// Once the process drains, the middleware asks clients to leave their connections.
	mux.Handle("/buy", s.agent.Middleware("requests", http.HandlerFunc(s.buy)))
	mux.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.Handle("/debug/bulkheads", s.agent.DebugHandler())
	mux.Handle("/readyz", s.agent.ReadyHandler())
	mux.Handle("/livez", s.agent.LiveHandler())
	return s.signed(mux)
}

// signed lets each answer say which pod it is from.
func (s *shop) signed(next http.Handler) http.Handler {
	if s.pod == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(load.PodHeader, s.pod)
		next.ServeHTTP(w, r)
	})
}

// buy sells something if the payment service can be called now. Whoever asks is
// told at once where it cannot, instead of waiting with everybody else.
func (s *shop) buy(w http.ResponseWriter, r *http.Request) {
	err := s.payments.Do(r.Context(), s.charge)
	switch {
	case err == nil:
		_, _ = fmt.Fprintln(w, "sold")
	case errors.Is(err, limiter.ErrSaturated), errors.Is(err, limiter.ErrDraining):
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case errors.Is(err, limiter.ErrReclaimed):
		http.Error(w, err.Error(), http.StatusGatewayTimeout)
	default:
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
}

// charge is the call that the bulkhead guards. It must respect its context, which
// ends when the call has taken so long that its slot is reclaimed.
func (s *shop) charge(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.chargeURL, http.NoBody)
	if err != nil {
		return err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("payments answered %s", response.Status)
	}
	return err
}

// Close closes the connections to the payment service.
func (s *shop) Close() error {
	s.client.CloseIdleConnections()
	return nil
}
