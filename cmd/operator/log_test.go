// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestAMereConflictIsNoError(t *testing.T) {
	leases := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	tests := map[string]struct {
		err  error
		want string
	}{
		"created by another": {apierrors.NewAlreadyExists(leases, "l"), "INFO"},
		"written by another": {fmt.Errorf("update: %w", apierrors.NewConflict(leases, "l", errors.New("modified"))), "INFO"},
		"cut short":          {fmt.Errorf("read: %w", context.Canceled), "INFO"},
		"timed out":          {fmt.Errorf("read: %w", context.DeadlineExceeded), "ERROR"},
		"forbidden":          {apierrors.NewForbidden(leases, "l", errors.New("no")), "ERROR"},
		"none":               {nil, "ERROR"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			logger := options{logFormat: "json"}.logger(&out).WithName("leaderelection").WithValues("lock", "l")
			logger.Error(test.err, "cannot lead")
			if line := out.String(); !strings.Contains(line, `"level":"`+test.want+`"`) || !strings.Contains(line, "cannot lead") {
				t.Errorf("got %s", line)
			}
		})
	}
}

func TestAMereConflictIsSilentWhereInfoIs(t *testing.T) {
	var out bytes.Buffer
	logger := options{logFormat: "text", logLevel: slog.LevelError}.logger(&out)
	logger.Error(apierrors.NewConflict(schema.GroupResource{}, "l", errors.New("modified")), "cannot lead")
	if out.Len() != 0 {
		t.Errorf("got %s", out.String())
	}
}
