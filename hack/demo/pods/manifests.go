// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed" // the manifests
	"strings"
)

// Names of the manifests where they are applied.
const (
	operatorFile = "operator.yaml"
	shopFile     = "shop.yaml"
	loadFile     = "load.yaml"
)

// madeLabel marks what the demo made.
const madeLabel = "demo.servicebulkhead.io/made"

var (
	//go:embed shop.yaml
	shopManifest string
	//go:embed load.yaml
	loadManifest string
)

// withImages puts other images, of which variables of the environment tell, in the
// place of those that make images builds.
func withImages(manifest string, getenv func(string) string) string {
	for _, name := range []string{"operator", "shop", "payments", "load"} {
		if image := getenv("SERVICEBULKHEAD_IMAGE_" + strings.ToUpper(name)); image != "" {
			manifest = strings.ReplaceAll(manifest, "image: servicebulkhead-"+name+":latest", "image: "+image)
		}
	}
	return manifest
}

// remarked returns the lines of a manifest that have something to say, as
// grep ' # ' does.
func remarked(manifest string) string {
	var text strings.Builder
	for line := range strings.Lines(manifest) {
		if strings.Contains(line, " # ") {
			text.WriteString(line)
		}
	}
	return text.String()
}
