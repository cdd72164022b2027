// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servicebulkhead/servicebulkhead/controllers"
)

func TestParse(t *testing.T) {
	o, err := parse(nil, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if !o.LeaderElection || o.Namespaces != nil || o.Resync != controllers.DefaultResync {
		t.Errorf("defaults: got %+v", o)
	}
	if o.Nudge || o.NudgeRate != 20 {
		t.Errorf("defaults: got %+v", o)
	}
	if !o.Metrics.Secure || o.Metrics.CertDir != "" || o.Metrics.Address != ":8443" || o.qps != 0 {
		t.Errorf("defaults: got %+v", o)
	}

	o, err = parse([]string{
		"--namespaces=shop, billing,", "--resync-period=1s", "--leader-elect=false", "--log-level=debug", "--log-format=text",
		"--kube-api-qps=12.5", "--metrics-secure=false", "--metrics-bind-address=0", "--nudge", "--nudge-rate=2.5",
	}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.Namespaces, []string{"shop", "billing"}) || o.Resync != time.Second || o.LeaderElection ||
		o.qps != 12.5 || o.Metrics.Secure || o.Metrics.Address != "0" || !o.Nudge || o.NudgeRate != 2.5 {
		t.Errorf("got %+v", o)
	}
}

func TestRunWithoutServing(t *testing.T) {
	tests := map[string]struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		"version":      {[]string{"--version"}, 0, "servicebulkhead-operator ", ""},
		"help":         {[]string{"-h"}, 0, "", "Usage of operator"},
		"unknown flag": {[]string{"--colour"}, 2, "", "-colour"},
		"argument":     {[]string{"shop"}, 2, "", `"shop": there are flags only`},
		"log format":   {[]string{"--log-format=xml"}, 2, "", `--log-format: "xml": must be json or text`},
		"log level":    {[]string{"--log-level=loud"}, 2, "", "log-level"},
		"rate":         {[]string{"--kube-api-qps=-1"}, 2, "", "-kube-api-qps: must be a number of at least 0"},
		"no rate":      {[]string{"--kube-api-qps=NaN"}, 2, "", "-kube-api-qps: must be a number of at least 0"},
		"burst":        {[]string{"--kube-api-burst=0"}, 2, "", "--kube-api-burst: 0: must be at least 1"},
		"certificates": {[]string{"--metrics-secure=false", "--metrics-cert-dir=/tls"}, 2, "", "--metrics-cert-dir: must not be set"},
		"no nudges":    {[]string{"--nudge-rate=0"}, 2, "", "--nudge-rate: 0: must be a number above 0"},
		"less nudges":  {[]string{"--nudge-rate=-1"}, 2, "", "--nudge-rate: -1: must be a number above 0"},
		"odd nudges":   {[]string{"--nudge-rate=NaN"}, 2, "", "--nudge-rate: NaN: must be a number above 0"},
		"all nudges":   {[]string{"--nudge-rate=Inf"}, 2, "", "--nudge-rate: +Inf: must be a number above 0"},
		"resync":       {[]string{"--resync-period=10ms"}, 2, "", "--resync-period: 10ms: must be at least 1s"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), test.args, &stdout, &stderr); code != test.code {
				t.Errorf("got exit code %d, want %d", code, test.code)
			}
			if !strings.HasPrefix(stdout.String(), test.stdout) || !strings.Contains(stderr.String(), test.stderr) {
				t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
			}
		})
	}
}
