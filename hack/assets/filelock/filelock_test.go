// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package filelock_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servicebulkhead/servicebulkhead/hack/assets/filelock"
)

func TestTryRefusesALockThatIsHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Try(path); !errors.Is(err, filelock.ErrHeld) {
		t.Fatalf("second Try: got %v, want ErrHeld", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := filelock.Try(path)
	if err != nil {
		t.Fatalf("Try after Release: %v", err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestAcquireNamesTheHolderAndWaitsForIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	var holders []string
	second, err := filelock.Acquire(t.Context(), path, func(holder string) {
		holders = append(holders, holder)
		if err := first.Release(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = second.Release() }()
	if len(holders) != 1 || !strings.HasPrefix(holders[0], "process ") {
		t.Errorf("told of holders %q, want one, with its process id", holders)
	}
}

func TestAcquireEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Release() }()
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	if _, err := filelock.Acquire(ctx, path, func(string) { cancel(enough) }); !errors.Is(err, enough) {
		t.Errorf("got %v, want the cause of the context's end", err)
	}
}
