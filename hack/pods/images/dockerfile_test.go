// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// TestTheDockerfileSaysTheSame compares texts: there is no builder here.
func TestTheDockerfileSaysTheSame(t *testing.T) {
	file := readDockerfile(t)
	for _, p := range programs {
		got, found := file.stages[p.binary()]
		if !found {
			t.Errorf("no stage %q", p.binary())
			continue
		}
		want := configure(p, v1.Platform{}, nil).Config
		if got.config.User != want.User || got.config.WorkingDir != want.WorkingDir || !slices.Equal(got.config.Entrypoint, want.Entrypoint) {
			t.Errorf("%s: Dockerfile %+v, images %+v", p.name, got.config, want)
		}
		if !maps.Equal(got.config.Labels, want.Labels) {
			t.Errorf("%s: labels in the Dockerfile %v, of images %v", p.name, got.config.Labels, want.Labels)
		}
		if copied := []string{"bin/" + p.binary() + " /" + p.binary()}; !slices.Equal(got.copies, copied) {
			t.Errorf("%s: copies %q, want %q", p.name, got.copies, copied)
		}
		if !slices.Contains(readLines(t, ".dockerignore"), "!bin/"+p.binary()) {
			t.Errorf(".dockerignore keeps bin/%s from the builder", p.binary())
		}
	}
	if len(file.stages) != len(programs)+1 { // and what they have in common
		t.Errorf("stages %v", slices.Sorted(maps.Keys(file.stages)))
	}
	if file.chosen != "${PROGRAM}" || file.argument != "PROGRAM=operator" {
		t.Errorf("the last stage is from %q, where %q", file.chosen, file.argument)
	}
}

// dockerfile is what this test understands of a Dockerfile.
type dockerfile struct {
	argument string // before the first stage
	stages   map[string]*stage
	chosen   string // what the last stage, which has no name, is from
}

type stage struct {
	config v1.Config
	copies []string
}

func readDockerfile(t *testing.T) dockerfile {
	t.Helper()
	file := dockerfile{stages: map[string]*stage{}}
	current := &stage{}
	for _, line := range readLines(t, "Dockerfile") {
		instruction, rest, _ := strings.Cut(line, " ")
		switch instruction {
		case "", "#":
		case "ARG":
			file.argument += rest
		case "FROM":
			current = file.begin(strings.Fields(rest))
		default:
			current.add(t, instruction, rest)
		}
	}
	return file
}

// begin begins a stage with what the one that it is from says.
func (f *dockerfile) begin(words []string) *stage {
	s := &stage{}
	if from, found := f.stages[words[0]]; found {
		*s = *from
		s.config.Labels = maps.Clone(from.config.Labels)
	}
	if len(words) == 3 {
		f.stages[words[2]] = s
	} else {
		f.chosen += words[0]
	}
	return s
}

func (s *stage) add(t *testing.T, instruction, rest string) {
	t.Helper()
	switch instruction {
	case "USER":
		s.config.User = rest
	case "WORKDIR":
		s.config.WorkingDir = rest
	case "COPY":
		s.copies = append(s.copies, rest)
	case "ENTRYPOINT":
		must(t, json.Unmarshal([]byte(rest), &s.config.Entrypoint))
	case "LABEL":
		name, value, _ := strings.Cut(rest, "=")
		if s.config.Labels == nil {
			s.config.Labels = map[string]string{}
		}
		s.config.Labels[name] = strings.Trim(value, `"`)
	default:
		t.Errorf("Dockerfile: %s %s: images says nothing of the kind", instruction, rest)
	}
}

func readLines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	must(t, err)
	return strings.Split(string(text), "\n")
}
