// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// To ask the API server whose a token is, and what its owner may do.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// MetricsOptions say how metrics are served.
type MetricsOptions struct {
	// Address is where; empty or "0" means nowhere.
	Address string
	// Secure serves them in HTTPS, and only to whom the API server lets get the
	// non-resource URL /metrics. Otherwise they are served in plain HTTP to everybody
	// who can reach the address.
	Secure bool
	// CertDir is the directory with tls.crt and tls.key; they are read again when they
	// change. Empty means a certificate that is made and signed at each start.
	CertDir string
}

func (o MetricsOptions) server() server.Options {
	if !o.Secure {
		return server.Options{BindAddress: cmp.Or(o.Address, "0")}
	}
	return server.Options{
		BindAddress:    cmp.Or(o.Address, "0"),
		SecureServing:  true,
		CertDir:        o.CertDir,
		FilterProvider: filters.WithAuthenticationAndAuthorization,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.MinVersion = tls.VersionTLS12
			// A scraper gains nothing by HTTP/2, and an attacker has more ways to keep it busy
			// (CVE-2023-44487).
			c.NextProtos = []string{"http/1.1"}
		}},
	}
}

// Check refuses a directory without a certificate: the server would quietly make one
// of its own, which whoever trusts the other would not.
func (o MetricsOptions) Check() error {
	if !o.Secure || o.CertDir == "" {
		return nil
	}
	var errs []error
	for _, name := range []string{"tls.crt", "tls.key"} {
		if _, err := os.Stat(filepath.Join(o.CertDir, name)); err != nil {
			errs = append(errs, fmt.Errorf("certificate of the metrics: %w", err))
		}
	}
	return errors.Join(errs...)
}
