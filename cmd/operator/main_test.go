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
	if !strings.HasPrefix(o.MetricsAddress, "127.0.0.1:") {
		t.Errorf("metrics are served to everybody, at %s", o.MetricsAddress)
	}

	o, err = parse([]string{
		"--namespaces=shop, billing,", "--resync-period=1s", "--leader-elect=false", "--log-level=debug", "--log-format=text",
	}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.Namespaces, []string{"shop", "billing"}) || o.Resync != time.Second || o.LeaderElection {
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
