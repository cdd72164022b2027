// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func TestWhatIsWrongIsSaid(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"build -platform windows/amd64", `platform "windows/amd64": must be linux/`},
		{"build -platform linux", `platform "linux": must be linux/`},
		{"build -platform linux/arm/v7", `platform "linux/arm/v7": must be linux/`},
		{"build shop basket", `image "basket": must be operator, shop, payments or load`},
		{"build -root testdata/nowhere", "build the programs in testdata/nowhere"},
		{"push", `registry "": must be HOST[:PORT][/PATH]`},
		{"push -registry https://registry.example", `registry "https://registry.example": must be HOST`},
		{"push -registry registry.example/Team", `registry "registry.example/Team"`},
		{"push -registry registry.example:port", `registry "registry.example:port"`},
		{"push -registry registry.example -tag a/b", `tag "a/b"`},
	} {
		t.Run(c.args, func(t *testing.T) {
			err := run(t.Context(), strings.Fields(c.args), io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestAWrongCommandLineIsExplained(t *testing.T) {
	for args, want := range map[string]error{
		"": errUsage, "burn": errUsage, "build -size 3": errUsage, "build -label x": errUsage, "build -label =x": errUsage,
		"build -registry x": errUsage, "push -o x": errUsage, "push -h": flag.ErrHelp,
	} {
		var out strings.Builder
		if _, err := parse(strings.Fields(args), &out); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", args, err, want)
		}
		if !strings.Contains(out.String(), "usage: images build") {
			t.Errorf("%q: %s", args, out.String())
		}
	}
}

func TestTheHostsArchitectureIsTheDefault(t *testing.T) {
	c, err := parse([]string{"build"}, io.Discard)
	must(t, err)
	p, err := parsePlatform(c.platform)
	if err != nil || p.Architecture != runtime.GOARCH || len(c.programs) != len(programs) {
		t.Errorf("platform %q, %v; %d programs", c.platform, err, len(c.programs))
	}
}

// The user's environment does not decide for what a program is built.
func TestBuildEnv(t *testing.T) {
	env := buildEnv(v1.Platform{OS: "linux", Architecture: "arm64"})
	for _, want := range []string{"CGO_ENABLED=0", "GOWORK=off", "GOOS=linux", "GOARCH=arm64"} {
		if !slices.Contains(env, want) {
			t.Errorf("%q is missing", want)
		}
	}
}
