// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func (o options) logger(out io.Writer) logr.Logger {
	how := &slog.HandlerOptions{Level: o.logLevel}
	if o.logFormat == "text" {
		return logr.FromSlogHandler(calm{slog.NewTextHandler(out, how)})
	}
	return logr.FromSlogHandler(calm{slog.NewJSONHandler(out, how)})
}

// calm logs at level info what libraries log as an error though it is none: that
// another replica was faster, as leader election does whenever two start at once, and
// that the process's own end cut something short.
type calm struct{ slog.Handler }

func (c calm) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError && harmless(r) {
		if r.Level = slog.LevelInfo; !c.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return c.Handler.Handle(ctx, r)
}

func harmless(r slog.Record) (yes bool) {
	r.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		yes = ok && (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || errors.Is(err, context.Canceled))
		return !yes
	})
	return yes
}

func (c calm) WithAttrs(attrs []slog.Attr) slog.Handler { return calm{c.Handler.WithAttrs(attrs)} }
func (c calm) WithGroup(name string) slog.Handler       { return calm{c.Handler.WithGroup(name)} }
