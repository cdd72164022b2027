// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// The registry is a server of plain HTTP on this machine.
func TestWhatIsPushedIsWhatIsWritten(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	prefix := strings.TrimPrefix(server.URL, "http://") + "/team"
	repo, dir := repository(t), t.TempDir()
	images(t, "build", "-root", repo, "-o", dir, "-tag", "v1")
	lines := images(t, "push", "-root", repo, "-registry", prefix, "-tag", "v1")

	want := "SERVICEBULKHEAD_IMAGE_OPERATOR SERVICEBULKHEAD_IMAGE_SHOP SERVICEBULKHEAD_IMAGE_PAYMENTS SERVICEBULKHEAD_IMAGE_LOAD"
	var variables []string
	for i, p := range programs {
		variable, ref, _ := strings.Cut(lines[i], "=")
		variables = append(variables, variable)
		written := digest(t, open(t, dir, p, "v1"))
		if want := fmt.Sprintf("%s/%s@%s", prefix, p.image(), written); ref != want {
			t.Errorf("printed %q, want %q", ref, want)
		}
		if got := digest(t, pull(t, ref)); got != written {
			t.Errorf("%s: pulled %s, want %s", ref, got, written)
		}
		if got := digest(t, pull(t, prefix+"/"+p.image()+":v1")); got != written {
			t.Errorf("%s by its tag: pulled %s, want %s", p.image(), got, written)
		}
	}
	if got := strings.Join(variables, " "); got != want {
		t.Errorf("variables %s, want %s", got, want)
	}
}

func pull(t *testing.T, text string) v1.Image {
	t.Helper()
	ref, err := name.ParseReference(text)
	must(t, err)
	image, err := remote.Image(ref, remote.WithContext(t.Context()))
	must(t, err)
	return image
}

func TestARegistryThatIsNotThereIsNamed(t *testing.T) {
	server := httptest.NewServer(nil)
	prefix := strings.TrimPrefix(server.URL, "http://")
	server.Close()
	err := run(t.Context(), []string{"push", "-root", repository(t), "-registry", prefix, "load"}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "push "+prefix+"/servicebulkhead-load:latest") {
		t.Errorf("error: %v", err)
	}
}
