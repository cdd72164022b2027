// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest finds the ServiceBulkheads in files, as kubectl apply would
// read them, and remembers on which line each of their fields stands.
//
//	paths, faults := manifest.Expand([]string{"manifests/"}, true)
//	content := manifest.Read(paths[0], text)
//	for _, object := range content.Objects {
//		fmt.Println(object.Line("spec.limit"), string(object.JSON))
//	}
//
// It judges no values; what is no YAML, it says in words that help. Remote files,
// and the building of kustomizations and charts, are other tools' work.
package manifest
