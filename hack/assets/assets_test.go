// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestPresetDirectoryWinsOverTheCache(t *testing.T) {
	dir := t.TempDir()
	for _, name := range essential {
		writeFile(t, filepath.Join(dir, name), 0o755)
	}
	t.Setenv(Env, dir)
	got, err := Dir(t.Context(), io.Discard)
	if err != nil || got != dir {
		t.Errorf("Dir() = %q, %v; want %q", got, err, dir)
	}
}

func TestPresetDirectoryMustHoldTheEssentials(t *testing.T) {
	for name, prepare := range map[string]func(dir string){
		"is not in":         func(dir string) { writeFile(t, filepath.Join(dir, "etcd"), 0o755) },
		"is not executable": func(dir string) { writeFile(t, filepath.Join(dir, "etcd"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			prepare(dir)
			t.Setenv(Env, dir)
			_, err := Dir(t.Context(), io.Discard)
			if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), Env) {
				t.Errorf("got %v, want an error that says %q and names %s", err, name, Env)
			}
		})
	}
}

func TestDirIsInTheUsersCacheDirectory(t *testing.T) {
	cache := t.TempDir()
	t.Setenv(Env, "")
	t.Setenv("XDG_CACHE_HOME", cache)
	src, err := findSource()
	if err != nil {
		t.Fatal(err)
	}
	key, err := src.key()
	if err != nil {
		t.Fatal(err)
	}
	userCache, err := os.UserCacheDir() // not XDG_CACHE_HOME everywhere
	if err != nil {
		t.Fatal(err)
	}
	if userCache != cache {
		t.Skipf("the user's cache directory is %s whatever XDG_CACHE_HOME says", userCache)
	}
	want := filepath.Join(cache, "servicebulkhead", key)
	for _, name := range links {
		writeFile(t, filepath.Join(want, name), 0o755)
	}
	if got, err := Dir(t.Context(), io.Discard); err != nil || got != want {
		t.Errorf("Dir() = %q, %v; want %q", got, err, want)
	}
}

func TestStoreBuildsOnce(t *testing.T) {
	s := store{root: t.TempDir(), out: io.Discard}
	first := mustDir(t, s, fakeBuild)
	for _, name := range append(slices.Clone(links), multicall) {
		if content, err := os.ReadFile(filepath.Join(first, name)); err != nil || string(content) != "binary" {
			t.Errorf("%s: got %q, %v", name, content, err)
		}
	}
	second := mustDir(t, s, func(context.Context, string) error {
		t.Error("built again")
		return nil
	})
	if first != second {
		t.Errorf("got %q, then %q", first, second)
	}
}

func TestOfTwoThatNeedABuildOneBuilds(t *testing.T) {
	root := t.TempDir()
	building, finish := make(chan struct{}), make(chan struct{})
	var both sync.WaitGroup
	both.Go(func() {
		mustDir(t, store{root: root, out: io.Discard}, func(ctx context.Context, binary string) error {
			close(building)
			<-finish
			return fakeBuild(ctx, binary)
		})
	})
	<-building
	var words string
	waiting := writerFunc(func(text string) {
		words += text
		close(finish)
	})
	mustDir(t, store{root: root, out: waiting}, func(context.Context, string) error {
		t.Error("the second one built too")
		return nil
	})
	both.Wait()
	if !strings.Contains(words, "waiting") || !strings.Contains(words, "process ") {
		t.Errorf("the second one said %q, want for whom it waits", words)
	}
}

func TestFailedBuildLeavesNothing(t *testing.T) {
	s := store{root: t.TempDir(), out: io.Discard}
	broken := errors.New("broken")
	_, err := s.dir(t.Context(), "key", func(ctx context.Context, binary string) error {
		return errors.Join(fakeBuild(ctx, binary), broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the build's error", err)
	}
	if got := entries(t, s.root); !slices.Equal(got, []string{"key.lock"}) {
		t.Errorf("left behind: %q", got)
	}
}

func TestWhatAnInterruptedBuildLeftIsRebuilt(t *testing.T) {
	s := store{root: t.TempDir(), out: io.Discard}
	writeFile(t, filepath.Join(s.root, "key.partial-1", multicall), 0o755)
	writeFile(t, filepath.Join(s.root, "key", "etcd"), 0o755) // damaged: the rest is missing
	dir := mustDir(t, s, fakeBuild)
	if err := holds(dir, links); err != nil {
		t.Error(err)
	}
	if got := entries(t, s.root); !slices.Equal(got, []string{"key", "key.lock"}) {
		t.Errorf("in the cache: %q", got)
	}
}

func mustDir(t *testing.T, s store, build func(context.Context, string) error) string {
	t.Helper()
	dir, err := s.dir(t.Context(), "key", build)
	if err != nil {
		t.Error(err)
	}
	return dir
}

func fakeBuild(_ context.Context, binary string) error {
	return os.WriteFile(binary, []byte("binary"), 0o755)
}

func writeFile(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, mode); err != nil {
		t.Fatal(err)
	}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range found {
		names = append(names, entry.Name())
	}
	return names
}

type writerFunc func(text string)

func (f writerFunc) Write(text []byte) (int, error) {
	f(string(text))
	return len(text), nil
}
