// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// program is one that gets an image.
type program struct {
	// name says which image it is, here and in the names of files.
	name string
	// source is its directory in the repository.
	source string
	// title describes the image.
	title string
}

var programs = []program{
	{"operator", "./cmd/operator", "The operator of ServiceBulkhead"},
	{"shop", "./hack/demo/shop", "The example application of ServiceBulkhead"},
	{"payments", "./hack/demo/payments", "The slow service of ServiceBulkhead's demo"},
	{"load", "./hack/demo/generator", "The load generator of ServiceBulkhead's demo"},
}

// binary is what the go command calls the program.
func (p program) binary() string { return path.Base(p.source) }

// image is the image's name, as config/install.yaml has that of the operator.
func (p program) image() string { return "servicebulkhead-" + p.name }

// variable is the environment variable in which the end-to-end tests look for
// another name of the image.
func (p program) variable() string { return "SERVICEBULKHEAD_IMAGE_" + strings.ToUpper(p.name) }

// choose returns the programs of those names, or all if there are none.
func choose(names []string) ([]program, error) {
	if len(names) == 0 {
		return programs, nil
	}
	var chosen []program
	for _, name := range names {
		i := slices.IndexFunc(programs, func(p program) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("image %q: must be operator, shop, payments or load", name)
		}
		chosen = append(chosen, programs[i])
	}
	return chosen, nil
}
