// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// holderEnv makes the test binary a process that holds a plane, tells of its
// processes on standard output, and waits to be killed.
const holderEnv = "LOCALPLANE_TEST_HOLDER"

func TestMain(m *testing.M) {
	if os.Getenv(holderEnv) != "" {
		holdPlane()
	}
	code := m.Run()
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func holdPlane() {
	plane, err := Start(context.Background(), Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(plane.Processes()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

// shared is the plane that the tests use which leave it as it is.
var shared struct {
	once  sync.Once
	plane *Plane
	err   error
}

func sharedPlane(t *testing.T) *Plane {
	t.Helper()
	shared.once.Do(func() {
		start := time.Now()
		shared.plane, shared.err = Start(context.Background(), Options{}) // outlives this test's context
		t.Logf("Start took %s", time.Since(start).Round(time.Millisecond))
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.plane
}

func stopShared() error {
	if shared.plane == nil {
		return nil
	}
	return shared.plane.Stop()
}

func clientOf(t *testing.T, plane *Plane) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// patience is how long something may take that takes a second or two when the
// machine is idle.
const patience = time.Minute

// eventually fails the test if the condition does not come true.
func eventually(t *testing.T, what string, condition func(ctx context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), pollInterval, patience, true, func(ctx context.Context) (bool, error) {
		return condition(ctx), nil
	})
	if err != nil {
		t.Fatalf("%s: not within %s", what, patience)
	}
}
